import { constants } from "node:fs";
import { codeOf } from "../../base/fault.ts";
import { type LocalFile, maxFolderBytes, syncFileCalls } from "../../base/file-calls.ts";
import { heldPath, isInside } from "../../base/folder.ts";
import { contentOf, type FolderContent } from "../../base/local-folder.ts";

/** FolderNow is a folder on a local disk that is held open, for calls that do not wait. */
export interface FolderNow {
  readonly handle: LocalFile;
  /** A path that opens exactly this folder. */
  readonly heldPath: string;
  /** With every link resolved. */
  readonly realPath: string;
}

/**
 * inFolderNow opens a folder on a local disk, proves on what was opened that it is inside of `realRoot`, and closes it after
 * `use`. Undefined for whatever is not as simple, errors included: whoever opens it with waiting finds them again and reports
 * them.
 */
export function inFolderNow<T>(
  diskPath: string,
  realRoot: () => string,
  use: (folder: FolderNow) => T,
): T | undefined {
  const handle = attemptNow(() => syncFileCalls.open(diskPath, constants.O_RDONLY | constants.O_DIRECTORY));
  if (handle === undefined) return undefined;
  try {
    const path = heldPath(handle);
    const realPath = attemptNow(() => syncFileCalls.readlink(path));
    const root = attemptNow(realRoot);
    if (realPath === undefined || root === undefined || !isInside(realPath, root)) return undefined;
    return use({ handle, heldPath: path, realPath });
  } finally {
    handle.close();
  }
}

/**
 * readFolderNow reads a small folder without waiting: a promise for each of its few system calls would take longer than they do.
 * Undefined for whatever is not as simple, errors included. A folder with more than `maxNames` is left to a reader that gives
 * the event loop to others in between.
 */
export function readFolderNow({ handle }: FolderNow, maxNames: number): FolderContent | undefined {
  return attemptNow(() => (handle.stat().size > maxFolderBytes ? undefined : contentOf(handle.fd, maxNames)));
}

/** attemptNow is undefined after an error of the system. */
export function attemptNow<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
