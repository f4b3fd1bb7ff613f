interface Entry {
  readonly size: number;
  /** When the time of its file was last set, in Unix milliseconds: it tells the next start which entries were used last. */
  markedAtMs: number;
}

export interface FoundEntry {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** When it was last used, as far as its file tells. */
  readonly storedAtMs: number;
}

/** The time of a file is set again at a use after this time. */
const markIntervalMs = 3600 * 1000;

/** CacheIndex knows which blobs are in the cache, from the least to the most recently used one. */
export class CacheIndex {
  #entries = new Map<string, Entry>();
  #bytes = 0;

  /** The sizes of all entries together. */
  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Puts an entry last in the order of eviction. Returns whether the time of its file is to be set. */
  use(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const isDue = Date.now() - entry.markedAtMs > markIntervalMs;
    if (isDue) entry.markedAtMs = Date.now();
    return isDue;
  }

  add(key: string, size: number): void {
    this.delete(key);
    this.#entries.set(key, { size, markedAtMs: Date.now() });
    this.#bytes += size;
  }

  /** Adds what a start found, as less recently used than everything that was used since. */
  addFound(found: readonly FoundEntry[]): void {
    const used = this.#entries;
    this.#entries = new Map();
    for (const { key, size, storedAtMs } of found.filter(({ key }) => !used.has(key))) {
      this.#entries.set(key, { size, markedAtMs: storedAtMs });
      this.#bytes += size;
    }
    for (const [key, entry] of used) this.#entries.set(key, entry);
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }

  /** Removes the least recently used entries until all together have at most `maxBytes`. Returns their keys. */
  evict(maxBytes: number): string[] {
    const evicted: string[] = [];
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= maxBytes) break;
      this.delete(key);
      evicted.push(key);
    }
    return evicted;
  }
}
