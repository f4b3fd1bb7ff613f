import { hashIfReadable, type LocalFile, type LocalTree, sameLook } from "./local-tree.ts";
import type { PushRecord } from "./push-record.ts";
import { foldersOf, type RemoteTree } from "./remote-tree.ts";
import { inParallel } from "./upload-queue.ts";

export interface PushPlan {
  readonly uploads: readonly LocalFile[];
  /** New folders that hold no other new one; those on the way to them are made with them. */
  readonly folders: readonly string[];
  readonly unchanged: number;
  /** Compared by reading both, because nothing was known about them. */
  readonly compared: number;
  /** On the server and not here. */
  readonly gone: readonly string[];
  /** A file there where a folder is here, or the other way round. */
  readonly inTheWay: readonly string[];
  /** Changed on the server by somebody else since the last push, and about to be replaced. */
  readonly replacesOthers: readonly string[];
}

/** Tells what the server holds. */
export type RemoteHash = (path: string, signal: AbortSignal) => Promise<string>;

export async function planPush(
  local: LocalTree,
  remote: RemoteTree,
  record: PushRecord,
  remoteHash: RemoteHash,
  signal: AbortSignal,
): Promise<PushPlan> {
  const different = new Set<string>();
  const replacesOthers: string[] = [];
  let compared = 0;
  await inParallel(local.files.values(), signal, async (file, signal) => {
    const there = remote.get(file.path);
    if (there === undefined) return void different.add(file.path);
    const trusted = record.vouchesFor(file.path, there);
    if (there.size === file.look.size) {
      if (!trusted) compared += 1;
      if (await isSame(file, there.mtime, trusted, signal)) return;
    }
    different.add(file.path);
    if (!trusted && record.get(file.path) !== undefined) replacesOthers.push(file.path);
  });
  const uploads = [...local.files.values()].filter(({ path }) => different.has(path));
  const inTheWay = findInTheWay(uploads, remote);
  return {
    uploads,
    folders: newFolders(uploads, remote),
    unchanged: local.files.size - uploads.length,
    compared,
    gone: [...remote.keys()].filter((path) => !local.files.has(path)),
    inTheWay,
    replacesOthers: replacesOthers.sort(),
  };

  async function isSame(
    { path, disk, look }: LocalFile,
    remoteMtime: number,
    trusted: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const known = record.get(path);
    if (trusted && known !== undefined && sameLook(known.look, look)) return true;
    const readAt = Date.now();
    const [here, there] = await Promise.all([
      known !== undefined && sameLook(known.look, look) ? known.hash : hashIfReadable(disk),
      trusted && known !== undefined ? known.hash : remoteHash(path, signal),
    ]);
    if (here === undefined || here !== there) return false;
    record.set(path, look, here, remoteMtime, readAt);
    return true;
  }
}

function newFolders(uploads: readonly LocalFile[], remote: RemoteTree): string[] {
  const present = foldersOf(remote.keys());
  const missing = [...foldersOf(uploads.map(({ path }) => path))].filter((folder) => !present.has(folder));
  const above = foldersOf(missing);
  return missing.filter((folder) => !above.has(folder));
}

function findInTheWay(uploads: readonly LocalFile[], remote: RemoteTree): string[] {
  const remoteFolders = foldersOf(remote.keys());
  const files = [...foldersOf(uploads.map(({ path }) => path))].filter((folder) => remote.has(folder));
  const folders = uploads.map(({ path }) => path).filter((path) => remoteFolders.has(path));
  return [...files, ...folders].sort();
}
