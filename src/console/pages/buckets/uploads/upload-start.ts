import { effect } from "@preact/signals";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { plural } from "../../../format.ts";
import { signedIn } from "../../../session.ts";
import { showError, toast } from "../../../ui/toasts.tsx";
import { registerUnsavedWork } from "../../../unsaved-work.ts";
import { parentOf } from "../path.ts";
import { type Plan, planUpload } from "../plan.ts";
import type { Dropped, Incoming } from "./drop.ts";
import type { UploadRequest } from "./upload.ts";
import { uploads } from "./upload-queue.ts";

export type Answer = "replace" | "skip" | "cancel";

/** Asks once about all files that would be replaced. */
export type AskToReplace = (plan: Plan) => Promise<Answer>;

export interface UploadTarget {
  readonly bucket: string;
  readonly files: BucketFiles;
  /** Folder in the bucket. */
  readonly into: string;
}

/** Plans an upload, asks if files would be replaced, and queues it. */
export async function startUpload(target: UploadTarget, dropped: Dropped, ask: AskToReplace): Promise<void> {
  const { files, into } = target;
  const plan = await planUpload(into, dropped.files, dropped.emptyFolders, (folder) => files.list(folder));
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
    toast(`${plural(plan.replacing.length, "file")} skipped.`);
}

interface RequestOptions extends UploadTarget {
  readonly folders: FolderCreator;
  readonly replace: boolean;
}

function createRequest({ path, file }: Incoming, options: RequestOptions): UploadRequest {
  const { bucket, files, folders, replace } = options;
  return {
    bucket,
    path,
    size: file.size,
    send: async (onProgress, signal, isRetry) => {
      await folders.create(parentOf(path));
      const modified = new Date(file.lastModified);
      try {
        // A retry may replace: the person has seen the message below.
        await files.upload(path, file, { onProgress, signal, modified, onlyNew: !replace && !isRetry });
      } catch (error) {
        if (error instanceof FileError && error.status === 412)
          throw new Error("a file with this name was added meanwhile; retry to replace it");
        throw error;
      }
    },
  };
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

registerUnsavedWork(() => (uploads.busy ? "uploads are under way" : undefined));

/** Shows the error of work that no button waits for. */
export function runOrShowError(work: Promise<void>): void {
  work.catch(showError);
}
