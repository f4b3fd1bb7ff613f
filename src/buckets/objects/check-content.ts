import { forEachConcurrently } from "../../base/for-each.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { BlobStore } from "./blob-store.ts";
import { type BlobOfFile, filesOfBlobs, namedBlobs, readBack } from "./copy-blobs.ts";

/** Blobs that are read at the same time. */
const blobsAtOnce = 8;

export interface CheckContentOptions {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  /** Called after each blob, with the bytes of all that were read so far. */
  progress(bytes: number): void;
}

/**
 * `checkContent` reads every blob that is named and compares its SHA-256 with that of its rows. It returns the files whose content is
 * not what was uploaded. A blob that is missing is not among them: `checkBlobs` reports it.
 */
export async function checkContent(options: CheckContentOptions): Promise<BlobOfFile[]> {
  const { rows, blobs, signal, progress } = options;
  const damaged = new Set<string>();
  let bytes = 0;
  await forEachConcurrently(namedBlobs(rows), blobsAtOnce, async (blob) => {
    signal.throwIfAborted();
    if ((await readBack(blobs, blob, signal)) === "damaged") damaged.add(blob.key);
    bytes += blob.size;
    progress(bytes);
  });
  return damaged.size === 0 ? [] : filesOfBlobs(rows, damaged, signal);
}
