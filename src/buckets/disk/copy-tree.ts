import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Fault, isDiskFull } from "../../base/fault.ts";
import { pathBelow, type TreePath, transplant } from "../path.ts";
import type { Failure, FileEntry } from "../ports.ts";
import { type CopyFileOptions, copyOpenFile } from "./copy-file.ts";
import { toTreeFault } from "./disk-faults.ts";
import type { DiskReader } from "./read.ts";

/** Files of a folder that are copied at a time. */
const maxRunning = 8;

export interface CopyTreeOptions extends CopyFileOptions {
  /** Where the copy is made; nothing may exist there. */
  readonly diskPath: string;
  /** The path that the copy will have in the bucket, for failures. */
  readonly to: TreePath;
  readonly recursive: boolean;
}

/**
 * copyTree copies a file, or a folder (with its content if `recursive`), to a disk path. Files that cannot be read are left out
 * and returned. A full disk ends it with an error. Rejects with the reason of `signal` soon after it aborts; what was copied by
 * then stays at the disk path.
 */
export async function copyTree(
  reader: DiskReader,
  entry: FileEntry,
  options: CopyTreeOptions,
): Promise<Failure[]> {
  const { diskPath, to, recursive, signal } = options;
  if (entry.kind === "file") {
    await copyOne(reader, entry.path, { ...options, diskPath });
    return [];
  }
  await mkdir(diskPath);
  if (!recursive) return [];
  const failures: Failure[] = [];
  const running = new Set<Promise<void>>();
  let broken: { readonly error: unknown } | undefined;
  const onFailure = (path: TreePath, error: unknown) => {
    const fault = toTreeFault(error, path);
    // On a full disk nothing that follows can succeed either.
    if (fault instanceof Fault && !isDiskFull(fault))
      failures.push({ path: path === entry.path ? to : transplant(path, entry.path, to), fault });
    else broken ??= { error: fault };
  };
  try {
    for await (const { path, kind } of reader.walk(entry.path, onFailure)) {
      if (broken !== undefined) break;
      signal.throwIfAborted();
      const copy = join(diskPath, pathBelow(path, entry.path));
      if (kind === "folder") {
        await mkdir(copy);
        continue;
      }
      const one: Promise<void> = copyOne(reader, path, { ...options, diskPath: copy })
        .catch((error: unknown) => onFailure(path, error))
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= maxRunning) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (broken !== undefined) throw broken.error;
  return failures;
}

async function copyOne(
  reader: DiskReader,
  from: TreePath,
  { diskPath, ...options }: CopyFileOptions & { readonly diskPath: string },
): Promise<void> {
  await using file = await reader.open(from);
  await copyOpenFile(file, diskPath, options);
}
