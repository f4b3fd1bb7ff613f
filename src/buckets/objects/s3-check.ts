import { Fault } from "../../base/fault.ts";
import { BlobMissingFault } from "./blob-faults.ts";
import { newBlobKey } from "./blob-key.ts";
import type { BlobStore } from "./blob-store.ts";
import { checkProbe } from "./check-probe.ts";
import type { S3Location } from "./s3-requests.ts";

/** checkS3 implements `BlobStore.check`. */
export async function checkS3(
  store: BlobStore,
  { bucket, endpoint }: S3Location,
  signal: AbortSignal,
): Promise<void> {
  try {
    // First a read of what does not exist: its answer tells best what is wrong with keys, bucket or region.
    await store.get(newBlobKey(), undefined, signal).catch(ignoreMissing);
    await store.list().next();
    const { key } = await store.put(checkProbe, { path: "check" }, signal);
    const read = await new Response(await store.get(key, undefined, signal)).bytes();
    if (!checkProbe.equals(read))
      throw new Fault("IoError", "the object store gives back other content than was written; check it");
    await store.delete([key]);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const at = endpoint === undefined ? "" : ` at ${new URL(endpoint).origin}`;
    throw new Fault(error.kind, `the bucket ${bucket}${at} cannot be used: ${error.detail}`, error.data);
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof BlobMissingFault)) throw error;
}
