import { existsSync } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { createFolderCommand, currentUser, folderProblem } from "../../base/local-fs/access.ts";
import { statOrUndefined } from "../disk/stat.ts";
import { storeUnavailable } from "./blob-faults.ts";
import type { BlobStore } from "./blob-store.ts";
import { checkProbe } from "./check-probe.ts";
import { type FolderPaths, shardOf } from "./folder-paths.ts";

interface CheckedFolder {
  readonly store: BlobStore;
  readonly paths: FolderPaths;
  /** Whether it may be empty. If not, a folder without `blobs` is one that is not mounted. */
  readonly isNew: boolean;
}

/**
 * checkFolder implements `BlobStore.check`. It creates the folders of a new store, but never the folder itself: where it is missing, its
 * file system may not be mounted, and what is written then would be hidden by the mount.
 */
export async function checkFolder(folder: CheckedFolder, signal: AbortSignal): Promise<void> {
  await answerOf(examine(folder, signal), folder.paths.root, signal);
}

/** answerOf ends with the signal: a network file system that does not answer holds a thread for as long as it likes. */
async function answerOf(work: Promise<void>, path: string, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () =>
    reject(storeUnavailable(`the folder ${path} does not answer; check its disk or network mount`));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function examine({ store, paths, isNew }: CheckedFolder, signal: AbortSignal): Promise<void> {
  const { root } = paths;
  try {
    if (!(await stat(root)).isDirectory()) throw unusable(root, "is a file, not a folder; name another path");
    if (!isNew && (await statOrUndefined(paths.blobs, stat)) === undefined)
      throw storeUnavailable(
        `the folder ${root} of [files] url is empty, but the database names files in it; mount its file system again, or move the files there with \`node-server migrate --files ${pathToFileURL(root)}\``,
      );
    for (const folder of [paths.blobs, paths.manifests, paths.unfinished]) await makeFolder(folder);
    const { key } = await store.put(checkProbe, { path: "check" }, signal);
    const read = await new Response(await store.get(key, undefined, signal)).bytes();
    if (!checkProbe.equals(read))
      throw unusable(root, "gives back other content than was written; check its disk");
    if (!(await readdir(paths.shard(shardOf(key)))).includes(key))
      throw unusable(root, "does not list a file that was just written; check its mount options");
    await store.delete([key]);
  } catch (error) {
    throw explained(error, root);
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Names the folder, and what an operator has to do. An error that is not of the system says so already. */
function explained(error: unknown, root: string): unknown {
  const code = codeOf(error instanceof Fault ? error.cause : error);
  if (code === undefined) return error;
  if (code === "ENOENT" && !existsSync(root))
    return storeUnavailable(
      `the folder ${root} of [files] url does not exist; mount its file system, or create it: \`${createFolderCommand(root, currentUser())}\``,
      error,
    );
  const problem = folderProblem(root);
  if (problem !== undefined) return unusable(problem.path, problem.why, error);
  const { detail, data } = error instanceof Fault ? error : { detail: messageOf(error), data: {} };
  return new Fault("IoError", `the folder ${root} of [files] url cannot be used: ${detail}`, data, {
    cause: error,
  });
}

function unusable(path: string, why: string, cause?: unknown): Fault {
  return new Fault("IoError", `the folder ${path} of [files] url ${why}`, {}, { cause });
}
