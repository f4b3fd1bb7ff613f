import { BlobMissingFault } from "./blob-faults.ts";
import type { BlobInfo, BlobStore } from "./blob-store.ts";

/** `checkProbe` is the content of the blob that `BlobStore.check` writes, reads and deletes. */
export const checkProbe = Buffer.from("node-server checks that it can write here\n");

/** The time to read one blob. */
const maxReadMs = 30_000;

/** isCheckProbe tells whether a listed blob is that of a check: of a node that starts at this moment, or that was killed meanwhile. */
export async function isCheckProbe(blobs: BlobStore, { key, size }: BlobInfo): Promise<boolean> {
  if (size !== checkProbe.length) return false;
  try {
    const content = await blobs.get(key, undefined, AbortSignal.timeout(maxReadMs));
    return checkProbe.equals(await new Response(content).bytes());
  } catch (error) {
    // The check has ended and deleted it.
    if (error instanceof BlobMissingFault) return true;
    throw error;
  }
}
