import { rename } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { NameInFolder, TrashKeeper } from "../history/disk/trash-keeper.ts";
import type { Failure } from "../ports.ts";
import { crossesDisks } from "./disk-faults.ts";
import { removeTree, removeTreeAt } from "./remove-tree.ts";
import type { Staging } from "./staging.ts";

export interface RemoveFolderOptions {
  readonly staging: Staging;
  /** Keeps the folder; undefined if it is deleted for good. */
  readonly keeper: TrashKeeper | undefined;
}

/**
 * removeFolder renames a folder into the trash, or into staging where it is deleted, so that it is gone at once for everybody.
 * With failures it is renamed back.
 */
export async function removeFolder(
  removed: NameInFolder,
  { staging, keeper }: RemoveFolderOptions,
): Promise<Failure[]> {
  const { parent, name, path } = removed;
  if (keeper !== undefined) {
    const { moved, failures } = await keeper.takeFolder(removed, { removes: true });
    if (moved !== undefined || failures.length > 0) return failures;
  }
  const staged = await staging.allocateBeside(parent);
  try {
    await rename(parent.at(name), staged.path);
  } catch (error) {
    await staged.done();
    // Another file system is mounted there: delete it in place.
    if (!crossesDisks(error)) throw error;
    return removeTree(parent, name, path);
  }
  const failures = await removeTreeAt(dirname(staged.path), basename(staged.path), path);
  if (failures.length > 0) await rename(staged.path, parent.at(name));
  await staged.done();
  return failures;
}
