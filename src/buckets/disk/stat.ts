import { constants, type Stats } from "node:fs";
import { copyFile, type FileHandle, lstat, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { codeOf, Fault } from "../../base/fault.ts";
import { Folder } from "../../base/folder.ts";
import type { TreePath } from "../path.ts";
import type { Staging } from "./staging.ts";

const absences = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

export function isAbsence(error: unknown): boolean {
  return absences.has(codeOf(error) ?? "");
}

export async function lookAt(
  diskPath: string,
  look: (path: string) => Promise<Stats>,
): Promise<Stats | undefined> {
  try {
    return await look(diskPath);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** The same at once; what may not be looked at is not there either. */
export function lookNow(
  diskPath: string,
  look: (path: string, options: { throwIfNoEntry: false }) => Stats | undefined,
): Stats | undefined {
  try {
    return look(diskPath, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error) || codeOf(error) === "EACCES" || codeOf(error) === "EIO") return undefined;
    throw error;
  }
}

/** A folder in a folder, made if it is missing. */
export async function openChild(folder: Folder, name: string): Promise<Folder> {
  try {
    return await Folder.open(folder.at(name));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  try {
    await mkdir(folder.at(name));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  await folder.sync();
  return Folder.open(folder.at(name));
}

/** Rename would replace a link or fail on a folder in words nobody understands. */
export async function refuseNonFile(diskPath: string, path: TreePath): Promise<void> {
  try {
    const stats = await lstat(diskPath);
    if (stats.isDirectory()) throw new Fault("InvalidInput", "a folder stands at this path", { path });
    if (!stats.isFile())
      throw new Fault("InvalidInput", "something that is no regular file stands at this path", { path });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** A bucket may hold folders of other file systems; a file cannot be renamed into one, so there it is copied first. */
export async function moveInto(
  staged: string,
  parent: Folder,
  name: string,
  staging: Staging,
  sync: boolean,
): Promise<void> {
  try {
    await rename(staged, parent.at(name));
    return;
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
  }
  const spot = await staging.near(parent);
  try {
    await copyFile(staged, spot.path, constants.COPYFILE_EXCL);
    const copy = await open(spot.path, "r");
    try {
      const { atime, mtime } = await stat(staged);
      await copy.utimes(atime, mtime);
      if (sync) await copy.datasync();
    } finally {
      await copy.close();
    }
    await rename(spot.path, parent.at(name));
  } catch (error) {
    // On a disk that cannot be written there is nothing to remove.
    await rm(spot.path, { force: true }).catch(() => {});
    throw error;
  } finally {
    await spot.leave();
  }
}

/** Writes all of a chunk, at the file's present position or at one that is given. */
export async function writeAll(file: FileHandle, chunk: Uint8Array, position?: number): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const to = position === undefined ? null : position + at;
    at += (await file.write(chunk, at, chunk.length - at, to)).bytesWritten;
  }
}
