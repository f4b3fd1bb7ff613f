import { Fault } from "../../base/fault.ts";
import { blobKeyTimeMs } from "./blob-key.ts";
import type { BlobInfo } from "./blob-store.ts";

const hourMs = 3600 * 1000;
/** A blob that has no name is deleted once it is this old. */
const minOrphanAgeMs = 24 * hourMs;
/** A blob gets its first name before it is this old, or never. The rest is left to the transaction for its COMMIT. */
const maxUnnamedAgeMs = 20 * hourMs;

/**
 * `mayBeOrphan` tells whether a blob that has no name can get none any more, by the clock of the store and by the time in its key.
 * `nowMs` is the database's clock, by which `refuseLate` judges too: so no wrong clock of a node can bring the two together.
 */
export function mayBeOrphan({ key, storedAtMs }: BlobInfo, nowMs: number): boolean {
  const latestMs = nowMs - minOrphanAgeMs;
  return storedAtMs < latestMs && blobKeyTimeMs(key) < latestMs;
}

/** `refuseLate` throws for uploaded content that a sweep may be about to delete, because its upload began too long ago. */
export function refuseLate(key: string, nowMs: number): void {
  if (nowMs - blobKeyTimeMs(key) <= maxUnnamedAgeMs) return;
  throw new Fault(
    "IoError",
    `the upload began more than ${maxUnnamedAgeMs / hourMs} hours ago, or the clock of the server is wrong; nothing was changed, send the file again`,
  );
}
