import { constants, readdirSync, type Stats } from "node:fs";
import { codeOf } from "../../base/fault.ts";
import { maxFolderBytes, syncFileCalls } from "../../base/file-calls.ts";
import { heldPath, isInside } from "../../base/folder.ts";
import { isAbsence } from "./stat.ts";

/** FolderContent is what a folder contains, by name. */
export type FolderContent = ReadonlyArray<readonly [name: string, stats: Stats]>;

export interface ReadNowOptions {
  /** Returns the real path of the folder that it has to be in. */
  readonly realRoot: () => string;
  /** A larger folder is left to a reader that gives the event loop to others in between. */
  readonly maxNames: number;
}

/**
 * readFolderNow reads a small folder on a local disk without waiting: a promise for each of its few system calls would take longer than
 * they do. As elsewhere, where the folder is is proven on what was opened. Undefined for whatever is not as simple, errors included: the
 * reader that waits finds them again and reports them.
 */
export function readFolderNow(
  diskPath: string,
  { realRoot, maxNames }: ReadNowOptions,
): FolderContent | undefined {
  try {
    const handle = syncFileCalls.open(diskPath, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      const held = heldPath(handle);
      if (!isInside(syncFileCalls.readlink(held), realRoot())) return undefined;
      if (handle.stat().size > maxFolderBytes) return undefined;
      const names = readdirSync(held);
      return names.length > maxNames ? undefined : contentOf(held, names.sort());
    } finally {
      handle.close();
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
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
