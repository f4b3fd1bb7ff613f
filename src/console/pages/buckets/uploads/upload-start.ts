import { effect } from "@preact/signals";
import {
  type BucketFiles,
  FileError,
  Unreachable,
  type UploadRetry,
  withRetries,
} from "../../../../client/index.ts";
import { untilReachable, whenReachable } from "../../../connection.ts";
import { signedIn } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { showError, toast } from "../../../ui/toasts.tsx";
import { registerUnsavedWork } from "../../../unsaved-work.ts";
import { parentOf } from "../path.ts";
import { type Plan, planUpload } from "../transfer-plan.ts";
import type { DropContents, Incoming } from "./drop.ts";
import type { UploadRequest } from "./upload.ts";
import { uploads } from "./upload-queue.ts";

export type Answer = "replace" | "skip" | "cancel";

/** Asks once about all files that would be replaced. */
type AskToReplace = (plan: Plan) => Promise<Answer>;

export interface UploadTarget {
  readonly bucket: string;
  readonly files: BucketFiles;
  /** Folder in the bucket. */
  readonly into: string;
}

/** Plans an upload, asks if files would be replaced, and queues it. */
export async function startUpload(
  target: UploadTarget,
  dropped: DropContents,
  ask: AskToReplace,
): Promise<void> {
  const { files, into } = target;
  const list = (folder: string) => untilReachable(() => files.list(folder));
  const plan = await planUpload(into, dropped.files, dropped.emptyFolders, list);
  const answer = plan.replacing.length === 0 ? "skip" : await ask(plan);
  if (answer === "cancel" || signedIn.peek().state !== "signed-in") return;
  const folders = new FolderCreator(files, plan.missing);
  const replacing = answer === "replace" ? plan.replacing : [];
  uploads.add([
    ...plan.fresh.map((incoming) => createRequest(incoming, { ...target, folders, replace: false })),
    ...replacing.map((incoming) => createRequest(incoming, { ...target, folders, replace: true })),
  ]);
  await folders.createEmpty(dropped.emptyFolders, into);
  if (answer === "skip" && plan.replacing.length > 0)
    toast(t.files.skipped(t.frame.countFiles(plan.replacing.length)));
}

interface RequestOptions extends UploadTarget {
  readonly folders: FolderCreator;
  readonly replace: boolean;
}

function createRequest({ path, file }: Incoming, options: RequestOptions): UploadRequest {
  const { bucket, files, folders } = options;
  const modified = new Date(file.lastModified);
  let onlyNew = !options.replace;
  // A large file goes on where an earlier attempt stopped, also one of another visit: the server finds it by path, size and time.
  let resume: string | true | undefined = true;
  const onResumable = (address: string) => {
    resume = address;
  };
  return {
    bucket,
    path,
    size: file.size,
    send: async (sending) => {
      const onRetry = (retry: UploadRetry) => {
        sending.onRetry(retry);
        return retry.error instanceof Unreachable ? afterOutage() : undefined;
      };
      const options = { ...sending, onRetry };
      await withRetries(() => folders.create(parentOf(path)), options);
      try {
        await files.upload(path, file, { ...options, modified, onlyNew, resume, onResumable, retry: true });
      } catch (error) {
        if (!(error instanceof FileError && error.status === 412)) throw error;
        // The next attempt may replace, because the person has seen this message. What was begun may not.
        onlyNew = false;
        resume = undefined;
        throw new Error(t.files.addedMeanwhile);
      }
    },
  };
}

/** Resolves when a server that did not answer does so again; never if it answers other requests all the time. */
async function afterOutage(): Promise<void> {
  if (!(await whenReachable())) await new Promise(() => {});
}

/** Creates each missing folder once, when the first file needs it, parents first. */
class FolderCreator {
  readonly #files: BucketFiles;
  readonly #missing: ReadonlySet<string>;
  readonly #created = new Map<string, Promise<void>>();

  constructor(files: BucketFiles, missing: ReadonlySet<string>) {
    this.#files = files;
    this.#missing = missing;
  }

  create(path: string): Promise<void> {
    if (!this.#missing.has(path)) return Promise.resolve();
    const before = this.#created.get(path);
    if (before !== undefined) return before;
    const now = this.create(parentOf(path)).then(() => this.#files.makeFolder(path, { parents: false }));
    this.#created.set(path, now);
    // A retry creates the folder again.
    now.catch(() => this.#created.delete(path));
    return now;
  }

  async createEmpty(folders: readonly string[], into: string): Promise<void> {
    for (const folder of folders) await this.create(into === "" ? folder : `${into}/${folder}`);
    if (folders.length > 0) uploads.arrived.value += 1;
  }
}

// Signing out cancels all uploads, and the next person does not see their names.
effect(() => {
  if (signedIn.value.state === "signed-in") return;
  uploads.cancelAll();
  uploads.clear();
});

registerUnsavedWork(() => (uploads.busy ? t.files.underWay : undefined));

/** Shows the error of work that no button waits for. */
export function runOrShowError(work: Promise<void>): void {
  work.catch(showError);
}
