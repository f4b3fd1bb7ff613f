import { type BlobInfo, BlobMissingFault, type BlobStore } from "../../blobs/blob-store.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { FileOfBlob } from "../../db/rows/store-rows.ts";
import { mayBeOrphan } from "./sweep.ts";

/** Blobs that are checked at the same time. */
const maxConcurrentChecks = 16;

interface CheckOptions {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  /** Called with the number of blobs so far. */
  progress?(blobs: number): void;
}

/** BrokenFile is a file whose content is missing, or has another size than it should. */
export interface BrokenFile extends FileOfBlob {
  /** The size in the store; undefined if it has no such blob. */
  readonly storedSize: number | undefined;
}

/** BlobReport is the comparison of a store with the database, both ways. */
export interface BlobReport {
  /** All blobs of the store. */
  readonly blobs: number;
  readonly bytes: number;
  /** Blobs that nothing names, and that are so old that they belong to no upload under way. */
  readonly orphans: { readonly count: number; readonly bytes: number };
  /** Younger blobs that nothing names: uploads under way, and the orphans of tomorrow. */
  readonly recent: number;
  readonly broken: readonly BrokenFile[];
}

/**
 * `checkBlobs` compares the listing of a store with the names in the database. It changes nothing, and may run beside servers that
 * write: what they store or delete meanwhile is not reported.
 */
export async function checkBlobs(options: CheckOptions): Promise<BlobReport> {
  const comparison = new Comparison(options);
  await comparison.run();
  await comparison.dropThoseThatExist();
  return comparison.report();
}

class Comparison {
  readonly #options: CheckOptions;
  /** Sizes in the store, by the keys of blobs whose row says another; undefined for those that the store does not have. */
  readonly #broken = new Map<string, number | undefined>();
  readonly #orphans = { count: 0, bytes: 0 };
  #blobs = 0;
  #bytes = 0;
  #recent = 0;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { blobs, rows, signal, progress } = this.#options;
    const now = await rows.now();
    let after = "";
    for await (const batch of blobs.list()) {
      signal.throwIfAborted();
      const listed = new Map(batch.map((blob) => [blob.key, blob]));
      // A batch is compared once it is listed: what is stored later is looked for by `dropThoseThatExist`.
      const upTo = batch.at(-1)?.key ?? after;
      await this.#compare({ after, upTo }, listed);
      after = upTo;
      for (const blob of batch) {
        this.#blobs += 1;
        this.#bytes += blob.size;
      }
      for (const blob of listed.values()) {
        if (!mayBeOrphan(blob, now)) this.#recent += 1;
        else {
          this.#orphans.count += 1;
          this.#orphans.bytes += blob.size;
        }
      }
      progress?.(this.#blobs);
    }
    await this.#compare({ after, upTo: undefined }, new Map());
  }

  /** Compares a part of the listing with the names in its range, and removes what is named. */
  async #compare(
    range: { readonly after: string; readonly upTo: string | undefined },
    listed: Map<string, BlobInfo>,
  ): Promise<void> {
    for await (const batch of this.#options.rows.names.named(range)) {
      this.#options.signal.throwIfAborted();
      for (const { key, size } of batch) {
        const stored = listed.get(key)?.size;
        if (stored !== size) this.#broken.set(key, stored);
        listed.delete(key);
      }
    }
  }

  /** A blob that was stored after the listing is not missing. */
  async dropThoseThatExist(): Promise<void> {
    const { blobs, signal } = this.#options;
    const missing = [...this.#broken].flatMap(([key, stored]) => (stored === undefined ? [key] : []));
    for (let at = 0; at < missing.length; at += maxConcurrentChecks) {
      signal.throwIfAborted();
      const some = missing.slice(at, at + maxConcurrentChecks);
      const exist = await Promise.all(some.map((key) => hasBlob(blobs, key, signal)));
      for (const [index, key] of some.entries()) if (exist[index]) this.#broken.delete(key);
    }
  }

  async report(): Promise<BlobReport> {
    const files = await this.#options.rows.names.filesOf([...this.#broken.keys()]);
    return {
      blobs: this.#blobs,
      bytes: this.#bytes,
      orphans: this.#orphans,
      recent: this.#recent,
      broken: files.map((file) => ({ ...file, storedSize: this.#broken.get(file.blob) })),
    };
  }
}

async function hasBlob(blobs: BlobStore, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    const stream = await blobs.get(key, { start: 0, end: 0 }, signal);
    await stream.cancel();
    return true;
  } catch (error) {
    if (error instanceof BlobMissingFault) return false;
    throw error;
  }
}
