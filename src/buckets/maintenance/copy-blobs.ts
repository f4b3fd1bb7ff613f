import { forEachConcurrently } from "../../base/concurrency.ts";
import { Fault } from "../../base/fault.ts";
import { BlobDamagedFault, BlobMissingFault, type BlobStore } from "../../blobs/blob-store.ts";
import { retryDamaged, verified } from "../../blobs/content.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { FileOfBlob, NamedBlob } from "../../db/rows/store-rows.ts";
import type { CopyMeter } from "../copy-bucket.ts";

/** Blobs that are copied at the same time. */
const blobsAtOnce = 8;

interface CopyBlobsOptions {
  readonly rows: RemovedRows;
  readonly source: BlobStore;
  readonly target: BlobStore;
  readonly meter: CopyMeter;
  readonly signal: AbortSignal;
}

interface BlobFailure {
  readonly blob: string;
  readonly fault: Fault;
}

interface CopyBlobsReport {
  readonly copied: number;
  /** Blobs that the target had already, with the same content. */
  readonly unchanged: number;
  readonly failures: readonly BlobFailure[];
  /** Files whose content the source does not have either. */
  readonly lost: readonly FileOfBlob[];
}

/** `measureBlobs` counts the blobs that are named. Rows that name the same blob count once. */
export async function measureBlobs(rows: RemovedRows): Promise<{ files: number; bytes: number }> {
  const total = { files: 0, bytes: 0 };
  for await (const { size } of namedBlobs(rows)) {
    total.files += 1;
    total.bytes += size;
  }
  return total;
}

/**
 * `copyBlobs` copies every blob that is named, under its own key, so that no row has to change. A blob that the target has already is
 * not copied again. All are read back from the target and compared by their SHA-256.
 */
export async function copyBlobs(options: CopyBlobsOptions): Promise<CopyBlobsReport> {
  const { rows, target, meter, signal } = options;
  const report = { copied: 0, unchanged: 0, failures: [] as BlobFailure[] };
  const lost = new Set<string>();
  await forEachConcurrently(namedBlobs(rows), blobsAtOnce, async (blob) => {
    signal.throwIfAborted();
    try {
      if ((await readBack(target, blob, signal)) === "right") {
        meter.add(blob.size);
        report.unchanged += 1;
      } else {
        await retryDamaged(() => copyOne(blob, options));
        if ((await readBack(target, blob, signal)) !== "right") throw new BlobDamagedFault(blob.key);
        report.copied += 1;
      }
      meter.fileDone();
    } catch (error) {
      signal.throwIfAborted();
      // Under this key it would pass for the content of a file.
      if (error instanceof BlobDamagedFault) await target.delete([blob.key]);
      else if (error instanceof BlobMissingFault) return void lost.add(blob.key);
      if (!(error instanceof Fault) || ["unavailable", "disk_full"].includes(String(error.data.reason)))
        throw error;
      report.failures.push({ blob: blob.key, fault: error });
    }
  });
  return { ...report, lost: lost.size === 0 ? [] : await rows.names.filesOf([...lost]) };
}

async function copyOne(
  { key, hash }: NamedBlob,
  { source, target, meter, signal }: CopyBlobsOptions,
): Promise<void> {
  const content = verified(await source.get(key, undefined, signal), { key, sha256: hash });
  await target.put(metered(content, meter), { path: key, key }, signal);
}

/** `namedBlobs` yields the blobs that rows name, each once. */
async function* namedBlobs(rows: RemovedRows): AsyncGenerator<NamedBlob> {
  for await (const batch of rows.names.named()) yield* batch;
}

async function* metered(content: AsyncIterable<Uint8Array>, meter: CopyMeter): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    meter.add(chunk.length);
    yield chunk;
  }
}

/** `readBack` reads a blob, and tells whether it is what its rows say. */
async function readBack(
  blobs: BlobStore,
  { key, hash }: NamedBlob,
  signal: AbortSignal,
): Promise<"right" | "damaged" | "missing"> {
  try {
    await retryDamaged(async () => {
      const content = await blobs.get(key, undefined, signal);
      for await (const _ of verified(content, { key, sha256: hash }));
    });
    return "right";
  } catch (error) {
    if (error instanceof BlobDamagedFault) return "damaged";
    if (error instanceof BlobMissingFault) return "missing";
    throw error;
  }
}

interface CheckContentOptions {
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
export async function checkContent(options: CheckContentOptions): Promise<FileOfBlob[]> {
  const { rows, blobs, signal, progress } = options;
  const damaged = new Set<string>();
  let bytes = 0;
  await forEachConcurrently(namedBlobs(rows), blobsAtOnce, async (blob) => {
    signal.throwIfAborted();
    if ((await readBack(blobs, blob, signal)) === "damaged") damaged.add(blob.key);
    bytes += blob.size;
    progress(bytes);
  });
  return damaged.size === 0 ? [] : rows.names.filesOf([...damaged]);
}
