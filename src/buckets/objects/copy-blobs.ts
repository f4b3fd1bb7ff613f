import { Fault } from "../../base/fault.ts";
import { forEachConcurrently } from "../../base/for-each.ts";
import { isFolderValue } from "../../db/entry-rows.ts";
import type { RemovedRows } from "../../db/removed-rows.ts";
import type { StoredName } from "../../db/stored-names.ts";
import type { CopyMeter } from "../copy-bucket.ts";
import { BlobMissingFault } from "./blob-faults.ts";
import type { BlobStore } from "./blob-store.ts";
import { everything } from "./check-blobs.ts";

/** Blobs that are copied at the same time. */
const blobsAtOnce = 8;

export interface CopyBlobsOptions {
  readonly rows: RemovedRows;
  readonly source: BlobStore;
  readonly target: BlobStore;
  readonly meter: CopyMeter;
  readonly signal: AbortSignal;
}

export interface BlobFailure {
  readonly blob: string;
  readonly fault: Fault;
}

/** BlobOfFile is a blob and a file that has it as its content. */
export interface BlobOfFile {
  readonly blob: string;
  /** The path of the bucket and of the file in it; undefined for a row that nothing leads to. */
  readonly place: { readonly bucket: string; readonly path: string } | undefined;
  /** Whether the file was deleted or replaced, and is kept for a while. */
  readonly isRemoved: boolean;
}

export interface CopyBlobsReport {
  readonly copied: number;
  /** Blobs that the target had already, with the same content. */
  readonly unchanged: number;
  readonly failures: readonly BlobFailure[];
  /** Files whose content the source does not have either. */
  readonly lost: readonly BlobOfFile[];
}

/** A blob with what its rows say about it. */
interface NamedBlob {
  readonly key: string;
  readonly size: number;
  readonly hash: string;
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
  const { rows, source, target, meter, signal } = options;
  const report = { copied: 0, unchanged: 0, failures: [] as BlobFailure[] };
  const lost = new Set<string>();
  await forEachConcurrently(namedBlobs(rows), blobsAtOnce, async (blob) => {
    signal.throwIfAborted();
    try {
      if ((await hashOf(target, blob.key, signal)) === blob.hash) {
        meter.add(blob.size);
        report.unchanged += 1;
      } else {
        const content = metered(await source.get(blob.key, undefined, signal), meter);
        const stored = await target.put(content, { path: blob.key, key: blob.key }, signal);
        const isSame = stored.sha256 === blob.hash;
        if (!isSame || (await hashOf(target, blob.key, signal)) !== blob.hash) {
          // Under this key it would pass for the content of a file.
          await target.delete([blob.key]);
          throw damaged(blob.key, isSame ? "after it was copied" : "in the store that it is copied from");
        }
        report.copied += 1;
      }
      meter.fileDone();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BlobMissingFault) return void lost.add(blob.key);
      if (!(error instanceof Fault) || ["unavailable", "disk_full"].includes(String(error.data.reason)))
        throw error;
      report.failures.push({ blob: blob.key, fault: error });
    }
  });
  return { ...report, lost: lost.size === 0 ? [] : await filesOfBlobs(rows, lost, signal) };
}

/** `filesOfBlobs` finds the files that have these blobs. Only a walk through all trees leads to their paths. */
export async function filesOfBlobs(
  rows: RemovedRows,
  blobs: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<BlobOfFile[]> {
  const found: BlobOfFile[] = [];
  const unreached = new Set(blobs);
  await rows.readSnapshot(async (names) => {
    for await (const { bucket, path, value, isRemoved } of everything(names)) {
      signal.throwIfAborted();
      if (isFolderValue(value) || value.blob === null || !blobs.has(value.blob)) continue;
      unreached.delete(value.blob);
      found.push({ blob: value.blob, place: { bucket, path }, isRemoved });
    }
  });
  return [...found, ...[...unreached].map((blob) => ({ blob, place: undefined, isRemoved: true }))];
}

/**
 * `namedBlobs` are the blobs that rows name, each once. What is remembered of those that were seen is 16 bytes each, in a set of
 * texts of 16 characters.
 */
export async function* namedBlobs(rows: RemovedRows): AsyncGenerator<NamedBlob> {
  const seen = new Set<string>();
  for await (const batch of rows.current.all())
    for (const name of batch) {
      const blob = toNamed(name);
      if (blob === undefined) continue;
      const short = Buffer.from(blob.key.replaceAll("-", ""), "hex").toString("latin1");
      if (seen.has(short)) continue;
      seen.add(short);
      yield blob;
    }
}

function toNamed({ blob, size, hash }: StoredName): NamedBlob | undefined {
  return blob === null || hash === null ? undefined : { key: blob, size, hash };
}

async function* metered(content: ReadableStream<Uint8Array>, meter: CopyMeter): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    meter.add(chunk.length);
    yield chunk;
  }
}

/** `hashOf` reads a blob; undefined if the store has no such blob. */
export async function hashOf(
  blobs: BlobStore,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hash = new Bun.CryptoHasher("sha256");
  try {
    for await (const chunk of await blobs.get(key, undefined, signal)) hash.update(chunk);
  } catch (error) {
    if (error instanceof BlobMissingFault) return undefined;
    throw error;
  }
  return hash.digest("hex");
}

function damaged(blob: string, when: string): Fault {
  return new Fault("IoError", `the content of the blob ${blob} is not what it should be ${when}`, { blob });
}
