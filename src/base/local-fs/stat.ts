import type { Stats } from "node:fs";
import { statfs } from "node:fs/promises";
import { codeOf } from "../fault.ts";
import type { FileState } from "./local-calls.ts";

const absences = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

/** isAbsence returns whether an error says that nothing exists at a path, or can. */
export function isAbsence(error: unknown): boolean {
  return absences.has(codeOf(error) ?? "");
}

/** statOrUndefined calls `stat` or `lstat`; undefined when nothing exists at the path. */
export async function statOrUndefined(
  diskPath: string,
  stat: (path: string) => Stats | Promise<Stats>,
): Promise<Stats | undefined> {
  try {
    return await stat(diskPath);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** sameContent returns whether two stats are of one file with the same content. */
export function sameContent(a: FileState, b: FileState): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs
  );
}

/** DiskUsage is the space of a file system. */
export interface DiskUsage {
  readonly availableBytes: number;
  readonly usedBytes: number;
}

/** `diskUsageOf` returns the space of the file system that a folder is on. */
export async function diskUsageOf(folder: string): Promise<DiskUsage> {
  const { bavail, bfree, blocks, bsize } = await statfs(folder);
  return { availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize };
}
