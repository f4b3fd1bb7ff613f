import { constants } from "node:fs";
import { copyFile, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault, isDiskFull } from "../../../base/fault.ts";
import { writeAll } from "../../../base/local-fs/file-calls.ts";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import { pathBelow, type TreePath, transplant } from "../../path.ts";
import type { Failure, FileEntry } from "../../ports.ts";
import { walk } from "../../tree-ops.ts";
import { toTreeFault } from "./disk-faults.ts";
import type { DiskFile, DiskReader } from "./read.ts";
import { storeRecord } from "./stored-record.ts";

/** Files up to this size are copied by one call of the operating system, which cannot be interrupted. */
const maxBytesAtOnce = 16 * 1024 * 1024;
const pieceBytes = 1024 * 1024;
const zeros = Buffer.alloc(pieceBytes);

/** Errors of a file system that cannot share the blocks of one file with another. */
const cannotClone = new Set(["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "ENOTTY", "EINVAL", "EXDEV"]);

interface CopyFileOptions {
  /** Whether the copy is on the disk, and not only in its cache, when the promise resolves. */
  readonly sync: boolean;
  readonly signal: AbortSignal;
}

/** copyOpenFile copies content, holes, times and mode to a new disk path, and shares blocks where the file system can. */
export async function copyOpenFile(
  file: DiskFile,
  diskPath: string,
  options: CopyFileOptions,
): Promise<void> {
  const { heldPath } = file;
  const stats = file.stats.state;
  options.signal.throwIfAborted();
  if (stats.size <= maxBytesAtOnce && !hasHoles(stats))
    await copyFile(heldPath, diskPath, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  else if (!(await clone(heldPath, diskPath))) await copyPieces(file, diskPath, options.signal);
  const copy = await open(diskPath, "r");
  try {
    await copy.utimes(new Date(stats.atimeMs), new Date(stats.mtimeMs));
    const { record } = file.stats;
    if (record !== undefined) storeRecord(diskPath, record);
    if (options.sync) await copy.datasync();
  } finally {
    await copy.close();
  }
}

/** The unit of `blocks` is 512 bytes, whatever block size the file system has. */
function hasHoles({ size, blocks }: FileState): boolean {
  return blocks * 512 < size;
}

async function clone(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (cannotClone.has(codeOf(error) ?? "")) return false;
    throw error;
  }
}

async function copyPieces(file: DiskFile, diskPath: string, signal: AbortSignal): Promise<void> {
  const { handle } = file;
  const stats = file.stats.state;
  const copy = await open(diskPath, "wx", stats.mode & 0o777);
  try {
    const keepHoles = hasHoles(stats);
    const buffer = Buffer.allocUnsafe(pieceBytes);
    let at = 0;
    while (at < stats.size) {
      signal.throwIfAborted();
      const wanted = Math.min(pieceBytes, stats.size - at);
      const { bytesRead } = await handle.read(buffer, 0, wanted, at);
      // Another program has shortened the file.
      if (bytesRead === 0) break;
      const piece = buffer.subarray(0, bytesRead);
      if (!keepHoles || !piece.equals(zeros.subarray(0, bytesRead))) await writeAll(copy, piece, at);
      at += bytesRead;
    }
    // No write extended the file over a hole at its end.
    if (keepHoles) await copy.truncate(at);
    await copy.chmod(stats.mode & 0o777);
  } finally {
    await copy.close();
  }
}

/** Files of a folder that are copied at a time. */
const maxRunning = 8;

interface CopyTreeOptions extends CopyFileOptions {
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
    for await (const { path, kind } of walk(reader, entry.path, onFailure)) {
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
