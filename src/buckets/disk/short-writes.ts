import { closeSync, constants, openSync, rmSync, writeSync } from "node:fs";

/** Longer content is written by a thread. */
const maxBytes = 64 * 1024;
/** A write that takes longer had to wait for the disk. A shorter one may have waited for the processor. */
const slowMs = 20;
/** For so long after a slow write, threads write. */
const pauseMs = 1000;
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/**
 * ShortWrites writes short files to a local disk without a thread, if nobody waits until they are synced: the system only copies
 * them into its memory, and a thread would cost more than that. When too much memory waits to be written to the disk, the system
 * makes writers wait; after the first such write, others are left to threads for a while.
 */
export class ShortWrites {
  #notBefore = 0;

  /** write creates a file; false if a thread has to do it, also after any error, which the thread finds again and reports. */
  write(diskPath: string, content: Uint8Array): boolean {
    const startedAt = performance.now();
    if (content.length > maxBytes || startedAt < this.#notBefore) return false;
    const isWritten = writeNow(diskPath, content);
    const endedAt = performance.now();
    if (endedAt - startedAt > slowMs) this.#notBefore = endedAt + pauseMs;
    return isWritten;
  }
}

function writeNow(diskPath: string, content: Uint8Array): boolean {
  let file: number | undefined;
  try {
    file = openSync(diskPath, newFile, 0o644);
    if (writeSync(file, content) === content.length) return true;
  } catch {
    // Reported by the thread.
  } finally {
    if (file !== undefined) closeSync(file);
  }
  if (file !== undefined) rmSync(diskPath, { force: true });
  return false;
}
