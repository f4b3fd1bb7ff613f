import type { Buckets } from "../../buckets/buckets.ts";
import type { FileSnapshot, FolderChecks } from "../../buckets/file-store.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Representation } from "../content/representation.ts";

/** CachedVariant is one variant of a file in memory, with its responses prepared. */
export interface CachedVariant {
  readonly representation: Representation;
  readonly blob: Blob;
  /** The response to a GET without conditions, except its body. */
  readonly whole: ResponseInit;
  /** The response to a client that has this variant. */
  readonly notModified: ResponseInit;
  /** The files that must be unchanged, or still missing, for the variant to be valid. */
  readonly dependencies: readonly FileSnapshot[];
}

/** CachedFile is what all variants of a cached file share. */
export interface CachedFile {
  /** As `cacheKey` makes it. */
  readonly key: string;
  readonly bucket: Bucket;
  readonly compressible: boolean;
}

interface StoredVariant extends CachedVariant {
  /** The tick in which the dependencies were last checked. */
  checkedTick: number;
}

/** CacheEntry is a cached file with its variants; only the cache changes it. */
export class CacheEntry {
  /** By the encodings that the client accepts, in its order of preference. */
  readonly variants = new Map<string, StoredVariant>();
  bytes = 0;
  /** Requested since the last eviction that met it. */
  used = true;

  constructor(readonly file: CachedFile) {}
}

/** Bytes that an entry takes beside its content and its key. */
const overheadBytes = 1024;

/**
 * MemoryCache keeps small files that are requested often. A variant is served only after its files on the disk were compared in
 * the same event-loop tick. One comparison serves all requests of a tick: they had arrived when it began, so each of them arrived
 * before any change that the comparison did not see.
 */
export class MemoryCache {
  readonly #entries = new Map<string, CacheEntry>();
  readonly #maxBytes: () => number;
  #bytes = 0;
  #tick = 1;
  /** Results of comparing parent folders in this tick. */
  readonly #folders: FolderChecks = new Map();
  #isTickScheduled = false;

  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  find(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  /** The variant for a client that accepts these encodings, if it is cached and neither the bucket nor the disk has changed. */
  variant(entry: CacheEntry, accepted: string, buckets: Buckets): CachedVariant | undefined {
    const variant = entry.variants.get(accepted);
    if (variant === undefined) return undefined;
    entry.used = true;
    if (variant.checkedTick === this.#tick) return variant;
    if (!buckets.isCurrent(entry.file.bucket)) return undefined;
    this.#scheduleTick();
    if (!variant.dependencies.every((file) => file.isCurrent(this.#folders))) {
      this.#drop(entry);
      return undefined;
    }
    variant.checkedTick = this.#tick;
    return variant;
  }

  add(file: CachedFile, accepted: string, variant: CachedVariant): void {
    const { key } = file;
    const size = variant.blob.size + key.length * 2 + overheadBytes;
    this.#evict();
    if (size > this.#maxBytes() / 8) return;
    const present = this.#entries.get(key);
    if (present !== undefined && present.file.bucket !== file.bucket) this.#drop(present);
    const entry = this.#entries.get(key) ?? new CacheEntry(file);
    if (entry.variants.has(accepted)) return;
    entry.variants.set(accepted, { ...variant, checkedTick: 0 });
    entry.bytes += size;
    this.#bytes += size;
    this.#entries.set(key, entry);
    this.#evict();
  }

  /** Removes the oldest entries until the rest fits; one that was requested meanwhile gets a second chance. */
  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes()) return;
      this.#entries.delete(key);
      if (entry.used) {
        entry.used = false;
        this.#entries.set(key, entry);
      } else {
        this.#bytes -= entry.bytes;
      }
    }
  }

  #drop(entry: CacheEntry): void {
    this.#entries.delete(entry.file.key);
    this.#bytes -= entry.bytes;
  }

  #scheduleTick(): void {
    if (this.#isTickScheduled) return;
    this.#isTickScheduled = true;
    setImmediate(() => {
      this.#isTickScheduled = false;
      this.#tick += 1;
      this.#folders.clear();
    });
  }
}
