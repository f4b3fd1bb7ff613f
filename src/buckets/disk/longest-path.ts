import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { codeOf, Fault } from "../../base/fault.ts";
import type { TreeEntry } from "./read.ts";
import { type Ground, maxPathBytes } from "./resolve.ts";

/**
 * Refuses to put a tree at any of these disk paths where its longest path would be longer than the disk takes: nothing could reach or list
 * what is at its end.
 */
export async function refuseTooDeep(
  ground: Ground,
  entry: TreeEntry,
  places: readonly string[],
): Promise<void> {
  if (entry.kind === "file") return;
  const from = ground.diskPath(entry.path);
  const bytes = Math.max(...places.map((place) => Buffer.byteLength(place)));
  const longest = bytes + 1 + (await longestPathBelow(from));
  if (longest > maxPathBytes)
    throw new Fault(
      "InvalidInput",
      `the folder is too deep for this place: the longest path in it would be above ${maxPathBytes} bytes; choose a shorter path`,
      { path: entry.path },
    );
}

/**
 * The length in bytes of the longest path below a folder, relative to it; Infinity when a path is longer than the disk takes already.
 * Links are not followed, and folders that cannot be read count for their own names alone.
 */
async function longestPathBelow(diskPath: string): Promise<number> {
  let longest = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let entries: Dirent[];
    try {
      entries = await readdir(diskPath + folder, { withFileTypes: true });
    } catch (error) {
      if (codeOf(error) === "ENAMETOOLONG") return Number.POSITIVE_INFINITY;
      if (!["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) throw error;
      continue;
    }
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      longest = Math.max(longest, Buffer.byteLength(path) - 1);
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return longest;
}
