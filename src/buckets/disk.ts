import { constants, type Stats } from "node:fs";
import { copyFile, type FileHandle, lstat, mkdir, rename, rm } from "node:fs/promises";
import { codeOf, Fault } from "../base/fault.ts";
import { Folder } from "../base/folder.ts";
import { randomText } from "../base/random.ts";
import type { TreePath } from "./path.ts";

const absences = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

export async function lookAt(
  diskPath: string,
  look: (path: string) => Promise<Stats>,
): Promise<Stats | undefined> {
  try {
    return await look(diskPath);
  } catch (error) {
    if (absences.has(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

export async function openChild(folder: Folder, name: string, make: boolean): Promise<Folder> {
  try {
    return await Folder.open(folder.at(name));
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || !make) throw error;
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
export async function moveInto(staged: string, parent: Folder, name: string): Promise<void> {
  try {
    await rename(staged, parent.at(name));
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    const beside = parent.at(`.${randomText(16)}.part`);
    try {
      await copyFile(staged, beside, constants.COPYFILE_EXCL);
      await rename(beside, parent.at(name));
    } finally {
      await rm(beside, { force: true });
    }
  }
}

export async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}
