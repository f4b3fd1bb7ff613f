import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../base/fault.ts";
import { childPath, type TreePath } from "../path.ts";
import { type CopyFileOptions, copyOpenFile } from "./copy-file.ts";
import { isDiskFull, toTreeFault } from "./disk-faults.ts";
import type { Tree, TreeEntry } from "./read.ts";
import type { Failure } from "./remove-tree.ts";

/** How many files of a folder are copied at a time. */
const atOnce = 8;

/**
 * Copies a file, or a folder with what it holds if `deep`, to a disk path. What cannot be read is told, by where it would be. Rejects
 * with the reason of `signal` soon after it aborts; what was copied by then stays at the disk path.
 */
export async function copyTree(
  tree: Tree,
  entry: TreeEntry,
  diskPath: string,
  to: TreePath,
  options: CopyFileOptions & { readonly deep: boolean },
): Promise<Failure[]> {
  if (entry.kind === "file") {
    await copyOne(tree, entry.path, diskPath, options);
    return [];
  }
  await mkdir(diskPath);
  if (!options.deep) return [];
  const failures: Failure[] = [];
  const running = new Set<Promise<void>>();
  let broken: { readonly error: unknown } | undefined;
  const place = (path: TreePath) => (entry.path === "" ? path : path.slice(entry.path.length + 1));
  const note = (path: TreePath, error: unknown) => {
    const fault = toTreeFault(error, path);
    // Where the disk is full, nothing that follows can succeed either.
    if (fault instanceof Fault && !isDiskFull(fault))
      failures.push({ path: childPath(to, place(path)), fault });
    else broken ??= { error: fault };
  };
  try {
    for await (const { path, kind } of tree.walk(entry.path, note)) {
      if (broken !== undefined) break;
      options.signal.throwIfAborted();
      const copy = join(diskPath, place(path));
      if (kind === "folder") {
        await mkdir(copy);
        continue;
      }
      const one: Promise<void> = copyOne(tree, path, copy, options)
        .catch((error: unknown) => note(path, error))
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= atOnce) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (broken !== undefined) throw broken.error;
  return failures;
}

async function copyOne(
  tree: Tree,
  from: TreePath,
  diskPath: string,
  options: CopyFileOptions,
): Promise<void> {
  await using file = await tree.open(from);
  await copyOpenFile(file, diskPath, options);
}
