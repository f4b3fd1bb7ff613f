import { lstat, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Fault } from "../../base/fault.ts";
import type { Folder } from "../../base/folder.ts";
import type { Failure } from "../file-store.ts";
import type { Segment, TreePath } from "../path.ts";
import { removeTreeAt } from "./remove-tree.ts";
import type { Staging } from "./staging.ts";
import { statOrUndefined } from "./stat.ts";

export interface ReplaceTarget {
  readonly parent: Folder;
  readonly name: Segment;
  /** For errors. */
  readonly path: TreePath;
}

/**
 * replaceWith renames `source` over a name in a folder. A file replaces a file atomically; anything else is first renamed into staging and
 * deleted afterwards. If the deletion fails part-way, both are renamed back (entries already deleted stay deleted) and the failures
 * are returned.
 */
export async function replaceWith(
  source: string,
  { parent, name, path }: ReplaceTarget,
  staging: Staging,
): Promise<Failure[]> {
  const target = parent.at(name);
  const [old, next] = [await statOrUndefined(target, lstat), await lstat(source)];
  if (old !== undefined && !old.isFile() && !old.isDirectory())
    throw new Fault(
      "InvalidInput",
      "what exists at this path is neither a file nor a folder; choose another path",
      {
        path,
      },
    );
  const same = old !== undefined && old.ino === next.ino && old.dev === next.dev;
  if (old === undefined || same || (old.isFile() && next.isFile())) {
    await rename(source, target);
    // POSIX: renaming one name of a file to another of its names does nothing. On a case-insensitive disk the two may
    // be one name, but then the file has only one link.
    if (same && next.isFile() && next.nlink > 1) await rm(source, { force: true });
    return [];
  }
  const aside = await staging.allocateBeside(parent, { restoreTo: name });
  try {
    await rename(target, aside.path);
    try {
      await rename(source, target);
    } catch (error) {
      await rename(aside.path, target);
      throw error;
    }
    const failures = await removeTreeAt(dirname(aside.path), basename(aside.path), path);
    if (failures.length > 0) {
      await rename(target, source);
      await rename(aside.path, target);
    }
    return failures;
  } finally {
    await aside.done();
  }
}
