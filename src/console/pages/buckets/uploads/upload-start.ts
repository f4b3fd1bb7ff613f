import { effect } from "@preact/signals";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { plural } from "../../../format.ts";
import { signedIn } from "../../../session.ts";
import { showError, toast } from "../../../ui/toasts.tsx";
import { registerUnsavedWork } from "../../../unsaved-work.ts";
import { parentOf } from "../path.ts";
import type { Dropped, Incoming } from "./drop.ts";
import { type Plan, planUpload } from "./plan.ts";
import { uploads } from "./uploads.ts";

export type Answer = "replace" | "skip" | "cancel";

/** Asked once for all files that would replace others. */
export type AskToReplace = (plan: Plan) => Promise<Answer>;

/** Looks at what is there, asks where something would be replaced, and begins. */
export async function startUpload(
  bucket: string,
  files: BucketFiles,
  into: string,
  dropped: Dropped,
  ask: AskToReplace,
): Promise<void> {
  const plan = await planUpload(into, dropped.files, dropped.emptyFolders, (folder) => files.list(folder));
  const answer = plan.replacing.length === 0 ? "skip" : await ask(plan);
  if (answer === "cancel" || signedIn.peek().state !== "signed-in") return;
  const folders = new FolderMaker(files, plan.missing);
  const wish = (replace: boolean) => (incoming: Incoming) =>
    toWish(bucket, files, folders, incoming, replace);
  uploads.add([
    ...plan.fresh.map(wish(false)),
    ...(answer === "replace" ? plan.replacing.map(wish(true)) : []),
  ]);
  await folders.makeEmpty(dropped.emptyFolders, into);
  if (answer === "skip" && plan.replacing.length > 0)
    toast(`${plural(plan.replacing.length, "file")} skipped.`);
}

function toWish(
  bucket: string,
  files: BucketFiles,
  folders: FolderMaker,
  { path, file }: Incoming,
  replace: boolean,
) {
  return {
    bucket,
    path,
    size: file.size,
    send: async (onProgress: (bytes: number) => void, signal: AbortSignal, again: boolean) => {
      await folders.make(parentOf(path));
      const modified = new Date(file.lastModified);
      try {
        // Who tries again has seen that another file came in between.
        await files.upload(path, file, { onProgress, signal, modified, onlyNew: !replace && !again });
      } catch (error) {
        if (error instanceof FileError && error.status === 412)
          throw new Error("a file of this name has come meanwhile; try again to replace it");
        throw error;
      }
    },
  };
}

/** Makes each missing folder once, whoever needs it first, after the one that it is in. */
class FolderMaker {
  readonly #made = new Map<string, Promise<void>>();

  constructor(
    private readonly files: BucketFiles,
    private readonly missing: ReadonlySet<string>,
  ) {}

  make(path: string): Promise<void> {
    if (!this.missing.has(path)) return Promise.resolve();
    const before = this.#made.get(path);
    if (before !== undefined) return before;
    const now = this.make(parentOf(path)).then(() => this.files.makeFolder(path, { parents: false }));
    this.#made.set(path, now);
    // So that another try is one.
    now.catch(() => this.#made.delete(path));
    return now;
  }

  async makeEmpty(folders: readonly string[], into: string): Promise<void> {
    for (const folder of folders) await this.make(into === "" ? folder : `${into}/${folder}`);
    if (folders.length > 0) uploads.arrived.value += 1;
  }
}

/** The uploads of who signs out end, and nobody after them sees their names. */
effect(() => {
  if (signedIn.value.state === "signed-in") return;
  uploads.cancelAll();
  uploads.clear();
});

registerUnsavedWork(() => (uploads.busy ? "uploads are under way" : undefined));

/** For what is begun without a button. */
export function runOrShowError(work: Promise<void>): void {
  work.catch(showError);
}
