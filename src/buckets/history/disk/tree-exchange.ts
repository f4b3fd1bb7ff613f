import type { Stats } from "node:fs";
import { lstat, rename, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Fault } from "../../../base/fault.ts";
import { Folder } from "../../../base/local-fs/folder.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import { treeRoot } from "../../path.ts";
import { folderIsGone } from "../../ports.ts";
import { removeTreeAt } from "../../trees/disk/remove-tree.ts";
import type { Staging } from "../../trees/disk/staging.ts";

/** temporaryPathOf returns the path of the first of two trees during their exchange, if the system cannot do that in one step. */
export function temporaryPathOf(other: string): string {
  return `${other}.aside`;
}

/**
 * refuseOtherDisk throws unless both are folders, not links, on one file system: otherwise their names cannot be exchanged. For a
 * folder that does not exist yet, the file system of its future location counts.
 */
export async function refuseOtherDisk(root: string, other: string): Promise<void> {
  const [mine, theirs, above] = await Promise.all([
    statOrUndefined(root, lstat),
    statOrUndefined(other, lstat),
    statOrUndefined(dirname(root), stat),
  ]);
  if (mine === undefined) throw folderIsGone();
  const { dev } = theirs ?? (await statAbove(other));
  const areFolders = mine.isDirectory() && (theirs?.isDirectory() ?? true);
  if (!areFolders || dev !== mine.dev || above?.dev !== mine.dev) throw isOnOtherDisk();
}

/** The nearest folder above a path that exists. */
async function statAbove(path: string): Promise<Stats> {
  const above = dirname(path);
  return (await statOrUndefined(above, stat)) ?? (above === path ? stat(path) : statAbove(above));
}

/** isOnOtherDisk returns the Fault for a folder whose name cannot be exchanged with one below static_path. */
export function isOnOtherDisk(): Fault {
  return new Fault(
    "Other",
    "deploys cannot be published, because the bucket's folder is a link, a mount point or not on the file system of static_path; move its files below static_path",
    { reason: "other_file_system" },
  );
}

/** syncNames makes the names of two folders durable. */
export async function syncNames(root: string, other: string): Promise<void> {
  for (const path of new Set([dirname(root), dirname(other)])) {
    const folder = await Folder.open(path);
    await folder.sync().finally(() => folder.close());
  }
}

/** recoverExchange moves a tree that a crash left at its temporary path: back to its own name if that is free, else to the other one. */
export async function recoverExchange(root: string, other: string): Promise<void> {
  const temporary = temporaryPathOf(other);
  if ((await statOrUndefined(temporary, lstat)) === undefined) return;
  await rename(temporary, (await statOrUndefined(root, lstat)) === undefined ? root : other);
  await syncNames(root, other);
}

/** DiscardedTrees deletes trees. Each is moved to the staging folder first, so that a start deletes what a crash leaves of it. */
export class DiscardedTrees {
  readonly #staging: Staging;
  /** Disk paths of trees that could not be deleted yet. */
  readonly #locked = new Set<string>();

  constructor(staging: Staging) {
    this.#staging = staging;
  }

  /**
   * add deletes a tree, and those before it that were being read by a backup. One that is being read now waits for the next call,
   * or the next start.
   */
  async add(root: string): Promise<void> {
    if ((await statOrUndefined(root, lstat)) !== undefined) {
      const staged = await this.#staging.allocate();
      await rename(root, staged);
      this.#locked.add(staged);
    }
    for (const path of this.#locked) {
      if (await isBeingRead(path)) continue;
      this.#locked.delete(path);
      const [failure] = await removeTreeAt(dirname(path), basename(path), treeRoot);
      if (failure !== undefined) throw failure.fault;
    }
  }
}

/** A backup locks the tree that it reads. */
async function isBeingRead(path: string): Promise<boolean> {
  const folder = await Folder.open(path);
  try {
    return !folder.tryLock();
  } finally {
    await folder.close();
  }
}
