import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { codeOf, Fault } from "../../base/fault.ts";
import { maxPathBytes } from "../path.ts";
import type { FileEntry } from "../ports.ts";
import type { PathResolver } from "./resolve.ts";

/**
 * refuseTooDeep throws InvalidInput if a tree, put at any of these disk paths, would contain a path above the limit of the disk: what is
 * at its end could be neither reached nor listed.
 */
export async function refuseTooDeep(
  paths: PathResolver,
  entry: FileEntry,
  targets: readonly string[],
): Promise<void> {
  if (entry.kind === "file") return;
  const from = paths.diskPath(entry.path);
  const targetBytes = Math.max(...targets.map((target) => Buffer.byteLength(target)));
  if (targetBytes + 1 + (await longestPathBelow(from)) > maxPathBytes)
    throw new Fault(
      "InvalidInput",
      `the folder is too deep for this path: the longest path in it would be above ${maxPathBytes} bytes; choose a shorter path`,
      { path: entry.path, reason: "name_too_long" },
    );
}

/**
 * longestPathBelow is the length in bytes of the longest path below a folder, relative to it; Infinity when one is above the limit
 * already. Links are not followed, and the content of folders that cannot be read is ignored.
 */
async function longestPathBelow(diskPath: string): Promise<number> {
  let maxBytes = 0;
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
      maxBytes = Math.max(maxBytes, Buffer.byteLength(path) - 1);
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return maxBytes;
}
