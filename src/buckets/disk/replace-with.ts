import { lstat, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import type { FileCalls } from "../../base/local-fs/file-calls.ts";
import type { NameInFolder, TrashKeeper } from "../history/disk/trash-keeper.ts";
import type { TreePath } from "../path.ts";
import { type Failure, folderExists } from "../ports.ts";
import { removeTreeAt } from "./remove-tree.ts";
import type { Staging } from "./staging.ts";
import { statOrUndefined } from "./stat.ts";

export interface ReplaceOptions {
  readonly staging: Staging;
  /** Keeps what is replaced; undefined if it is deleted. */
  readonly keeper: TrashKeeper | undefined;
}

/**
 * replaceWith renames `source` over a name in a folder. A file replaces a file atomically; anything else is first renamed into
 * staging, or into the trash, and deleted afterwards in staging. If the deletion fails part-way, both are renamed back (entries
 * already deleted stay deleted) and the failures are returned.
 */
export async function replaceWith(
  source: string,
  replaced: NameInFolder,
  { staging, keeper }: ReplaceOptions,
): Promise<Failure[]> {
  const { parent, name, path } = replaced;
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
  if (keeper !== undefined && old !== undefined && !same) {
    const rest = () => replaceWith(source, replaced, { staging, keeper: undefined });
    return old.isFile()
      ? keeper.keepWhile(replaced, { removes: false }, rest)
      : replaceFolder(replaced, { staging, keeper, rest });
  }
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

/** Moves the folder at a name into the trash and runs `rest`, which puts something else there. If that throws, it is moved back. */
async function replaceFolder(
  replaced: NameInFolder,
  { staging, keeper, rest }: { staging: Staging; keeper: TrashKeeper; rest: () => Promise<Failure[]> },
): Promise<Failure[]> {
  const { parent, name } = replaced;
  const { note, done } = await staging.noteReplaced(parent, name);
  try {
    const { moved, failures } = await keeper.takeFolder(replaced, { removes: false, beforeMove: note });
    if (failures.length > 0) return failures;
    try {
      return await rest();
    } catch (error) {
      if (moved !== undefined) await rename(moved, parent.at(name));
      throw error;
    }
  } finally {
    await done();
  }
}

/**
 * refuseNonFile returns whether a file exists, and throws InvalidInput for anything else. Rename would replace a link, and its
 * errors for a folder name no cause.
 */
export async function refuseNonFile(
  diskPath: string,
  path: TreePath,
  { lstat }: FileCalls,
): Promise<boolean> {
  try {
    const stats = await lstat(diskPath);
    if (stats.isDirectory()) throw folderExists(path);
    if (!stats.isFile())
      throw new Fault("InvalidInput", "what exists at this path is not a regular file; choose another path", {
        path,
      });
    return true;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return false;
  }
}
