import { constants, type Stats } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import type { OpenFile } from "./read.ts";
import { writeAll } from "./stat.ts";

/** Files up to this size are copied by one call of the operating system, which cannot be interrupted. */
const maxBytesAtOnce = 16 * 1024 * 1024;
const pieceBytes = 1024 * 1024;
const zeros = Buffer.alloc(pieceBytes);

/** Errors of a file system that cannot share the blocks of one file with another. */
const cannotClone = new Set(["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "ENOTTY", "EINVAL", "EXDEV"]);

export interface CopyFileOptions {
  /** The copy is on the disk, not only in its cache, when the promise resolves. */
  readonly sync: boolean;
  readonly signal: AbortSignal;
}

/** Copies an open file to a new disk path: blocks shared where the file system can, holes kept, its times and mode with it. */
export async function copyOpenFile(
  file: OpenFile,
  diskPath: string,
  options: CopyFileOptions,
): Promise<void> {
  const { stats, heldPath } = file;
  options.signal.throwIfAborted();
  if (stats.size <= maxBytesAtOnce && !hasHoles(stats))
    await copyFile(heldPath, diskPath, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  else if (!(await clone(heldPath, diskPath))) await copyPieces(file, diskPath, options.signal);
  const copy = await open(diskPath, "r");
  try {
    await copy.utimes(stats.atime, stats.mtime);
    if (options.sync) await copy.datasync();
  } finally {
    await copy.close();
  }
}

/** `blocks` counts 512 bytes each, whatever the file system's own block is. */
function hasHoles({ size, blocks }: Stats): boolean {
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

async function copyPieces({ handle, stats }: OpenFile, diskPath: string, signal: AbortSignal): Promise<void> {
  const copy = await open(diskPath, "wx", stats.mode & 0o777);
  try {
    const keepHoles = hasHoles(stats);
    const buffer = Buffer.allocUnsafe(pieceBytes);
    let at = 0;
    while (at < stats.size) {
      signal.throwIfAborted();
      const wanted = Math.min(pieceBytes, stats.size - at);
      const { bytesRead } = await handle.read(buffer, 0, wanted, at);
      // Another program made the file shorter meanwhile.
      if (bytesRead === 0) break;
      const piece = buffer.subarray(0, bytesRead);
      if (!keepHoles || !piece.equals(zeros.subarray(0, bytesRead))) await writeAll(copy, piece, at);
      at += bytesRead;
    }
    // A hole at the end is written by nothing.
    if (keepHoles) await copy.truncate(at);
    await copy.chmod(stats.mode & 0o777);
  } finally {
    await copy.close();
  }
}
