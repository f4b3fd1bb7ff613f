import { readdirSync, type Stats } from "node:fs";
import { maxFolderBytes, syncFileCalls } from "../../base/file-calls.ts";
import { attemptNow, type FolderNow } from "./folder-now.ts";
import { isAbsence } from "./stat.ts";

/** FolderContent is what a folder contains, by name. */
export type FolderContent = ReadonlyArray<readonly [name: string, stats: Stats]>;

/**
 * readFolderNow reads a small folder on a local disk without waiting: a promise for each of its few system calls would take
 * longer than they do. Undefined for whatever is not as simple, errors included: the reader that waits finds them again and
 * reports them. A folder with more than `maxNames` is left to a reader that gives the event loop to others in between.
 */
export function readFolderNow(
  { handle, heldPath }: FolderNow,
  { maxNames }: { readonly maxNames: number },
): FolderContent | undefined {
  return attemptNow(() => {
    if (handle.stat().size > maxFolderBytes) return undefined;
    const names = readdirSync(heldPath);
    return names.length > maxNames ? undefined : contentOf(heldPath, names.sort());
  });
}

/** Entries that vanished since their names were read are left out. */
function contentOf(folder: string, names: readonly string[]): FolderContent {
  const content: Array<readonly [string, Stats]> = [];
  for (const name of names)
    try {
      content.push([name, syncFileCalls.lstat(`${folder}/${name}`)]);
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  return content;
}
