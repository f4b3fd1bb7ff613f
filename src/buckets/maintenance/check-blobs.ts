import { BlobMissingFault, type BlobStore } from "../../blobs/blob-store.ts";
import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { EntryValue } from "../../db/rows/entry-values.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { ObjectRows } from "../../db/rows/store-rows.ts";
import { walkEntries } from "./manifest.ts";
import { ListedBlobs, mayBeOrphan } from "./sweep.ts";

/** Blobs of the listing that are held in memory at once. */
const maxListedBlobs = 1024 * 1024;
/** Blobs that are checked at the same time. */
const maxConcurrentChecks = 16;

interface CheckOptions {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  progress?(step: CheckStep): void;
  /** The number of blobs that are held in memory at once; for tests. */
  readonly maxListed?: number;
}

interface CheckStep {
  readonly doing: "listing" | "comparing" | "naming";
  /** Blobs, rows or files so far. */
  readonly count: number;
}

/** BrokenFile is a file whose content is missing, or has another size than it should. */
export interface BrokenFile {
  /** The path of the bucket and of the file in it; undefined for a row that nothing leads to. */
  readonly location: { readonly bucket: string; readonly path: string } | undefined;
  /** Whether it was deleted or replaced, and is kept for a while. */
  readonly isRemoved: boolean;
  readonly blob: string;
  /** The size that it should have, in bytes. */
  readonly size: number;
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
  readonly #listed: ListedBlobs;
  /** Sizes in the store, by the keys of blobs whose row says another; undefined for those that the store does not have. */
  readonly #broken = new Map<string, number | undefined>();
  readonly #orphans = { count: 0, bytes: 0 };
  #blobs = 0;
  #bytes = 0;
  #recent = 0;
  #names = 0;

  constructor(options: CheckOptions) {
    this.#options = options;
    this.#listed = new ListedBlobs(options.maxListed ?? maxListedBlobs);
  }

  async run(): Promise<void> {
    const { blobs, rows, signal, progress } = this.#options;
    const now = await rows.now();
    const young = new Set<string>();
    let after = "";
    let last = "";
    for await (const batch of blobs.list()) {
      signal.throwIfAborted();
      for (const blob of batch) {
        this.#blobs += 1;
        this.#bytes += blob.size;
        if (!mayBeOrphan(blob, now)) young.add(blob.key);
        this.#listed.add(blob);
        last = blob.key;
        if (!this.#listed.isFull) continue;
        await this.#compare({ after, upTo: last }, young);
        after = last;
      }
      progress?.({ doing: "listing", count: this.#blobs });
    }
    await this.#compare({ after, upTo: undefined }, young);
  }

  /** Compares one part of the listing with the names whose keys are in its range. */
  async #compare(
    { after, upTo }: { readonly after: string; readonly upTo: string | undefined },
    young: Set<string>,
  ): Promise<void> {
    const { rows, signal, progress } = this.#options;
    await rows.readSnapshot(async (names) => {
      for await (const batch of names.all()) {
        signal.throwIfAborted();
        for (const { blob, size } of batch) {
          if (blob === null || blob <= after || (upTo !== undefined && blob > upTo)) continue;
          const stored = this.#listed.crossOut(blob);
          if (stored !== size) this.#broken.set(blob, stored);
        }
        this.#names += batch.length;
        progress?.({ doing: "comparing", count: this.#names });
      }
    });
    for (const unnamed of this.#listed.remaining(1000))
      for (const { key, size } of unnamed) {
        if (young.has(key)) {
          this.#recent += 1;
          continue;
        }
        this.#orphans.count += 1;
        this.#orphans.bytes += size;
      }
    this.#listed.clear();
    young.clear();
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
    return {
      blobs: this.#blobs,
      bytes: this.#bytes,
      orphans: this.#orphans,
      recent: this.#recent,
      broken: this.#broken.size === 0 ? [] : await this.#named(),
    };
  }

  /** The files whose blobs are broken. Only their rows have no path: it takes a walk through all trees. */
  async #named(): Promise<BrokenFile[]> {
    const { rows, signal, progress } = this.#options;
    const found: BrokenFile[] = [];
    let count = 0;
    await rows.readSnapshot(async (names) => {
      for await (const { bucket, path, value, isRemoved } of everything(names)) {
        signal.throwIfAborted();
        count += 1;
        progress?.({ doing: "naming", count });
        if (isFolderValue(value) || value.blob === null || !this.#broken.has(value.blob)) continue;
        const { blob, size } = value;
        found.push({ location: { bucket, path }, isRemoved, blob, size, storedSize: this.#broken.get(blob) });
      }
    });
    const unreached = new Set(this.#broken.keys());
    for (const { blob } of found) unreached.delete(blob);
    for (const blob of unreached)
      found.push({ location: undefined, isRemoved: true, blob, size: 0, storedSize: this.#broken.get(blob) });
    return found;
  }
}

interface ReachedEntry {
  readonly bucket: string;
  readonly path: string;
  readonly value: EntryValue;
  readonly isRemoved: boolean;
}

/** `everything` yields the files and folders of all buckets, and removed ones. */
export async function* everything(names: ObjectRows): AsyncGenerator<ReachedEntry> {
  for await (const heads of names.heads())
    for (const { key: bucket, value: head } of heads) {
      for await (const entry of walkEntries(names, head.root)) yield { bucket, ...entry, isRemoved: false };
      for await (const batch of names.removed(bucket))
        for (const { value: removed } of batch) {
          yield { bucket, path: removed.path, value: removed.entry, isRemoved: true };
          if (!isFolderValue(removed.entry)) continue;
          for await (const { path, value } of walkEntries(names, removed.entry.id))
            yield { bucket, path: `${removed.path}/${path}`, value, isRemoved: true };
        }
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
