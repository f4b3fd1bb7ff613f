import { BatchLoader } from "../base/batch-loader.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { type Bucket, isBucketName } from "./record.ts";

/** A record is fresh, and used without another read, for this long: another server, or an operator's SQL, may change it. Changes of this process are seen at once. */
const freshMs = 1000;
/** Limits of cached records, and of names that no bucket has. The entry that was read longest ago is removed first. */
const maxRecords = 10_000;
const maxMissing = 1000;

/** The key of the bucket that answers the HTTP root; every other key is a bucket's name. */
export const httpRoot = Symbol("HTTP root");
export type BucketKey = string | typeof httpRoot;

/** A cached answer for one key: a record, or that there is none. */
interface CacheEntry {
  readonly record: Bucket | undefined;
  /** When the read began, by a clock that nobody sets: a step of the time of day must not make records valid for hours. */
  readonly readAt: number;
  /** The number of changes that this process had made when the read began. */
  readonly changes: number;
}

/** Records of buckets as last read from the database, one by one, so that the cost does not grow with the number of buckets. */
export class BucketCache {
  readonly #readRows: (keys: ReadonlySet<BucketKey>) => Promise<ReadonlyMap<BucketKey, Bucket>>;
  /** The time for which `loadOrStale` returns old records while the database is away. */
  readonly #staleMs: number;
  readonly #found = new Map<BucketKey, CacheEntry>();
  readonly #missing = new Map<BucketKey, CacheEntry>();
  readonly #reads: BatchLoader<BucketKey, Bucket>;
  #changes = 0;
  /** Entries from before this many changes must not be used, not even while the database is away. */
  #oldestUsable = 0;
  /** When a read last failed because the database is away; undefined since one succeeded. */
  #awayAt: number | undefined;

  constructor(
    readRows: (keys: ReadonlySet<BucketKey>) => Promise<ReadonlyMap<BucketKey, Bucket>>,
    staleMs: number,
  ) {
    this.#readRows = readRows;
    this.#staleMs = staleMs;
    this.#reads = new BatchLoader((keys) => this.#read(keys));
  }

  /**
   * Whether the cache has exactly this record, and it is fresh; while the database is away, whether `loadOrStale` would return it.
   * Synchronous; waits for no read of the database.
   */
  isCurrent(bucket: Bucket): boolean {
    if (this.#fresh(bucket.name)?.record === bucket) return true;
    if (this.#awayAt === undefined || this.#stale(bucket.name)?.record !== bucket) return false;
    this.#readIfDue(bucket.name, this.#awayAt);
    return true;
  }

  /** A record that is at most `freshMs` old, undefined when there is no such bucket; throws while the database is away. */
  async load(key: BucketKey): Promise<Bucket | undefined> {
    const entry = this.#fresh(key);
    return entry === undefined ? this.#reads.load(key) : entry.record;
  }

  /** The same, but while the database is away the last known record, unless it is older than `staleMs`. */
  async loadOrStale(key: BucketKey): Promise<Bucket | undefined> {
    const entry = this.#fresh(key);
    if (entry !== undefined) return entry.record;
    const stale = this.#stale(key);
    if (stale !== undefined && this.#awayAt !== undefined) {
      this.#readIfDue(key, this.#awayAt);
      return stale.record;
    }
    try {
      return await this.#reads.load(key);
    } catch (error) {
      const known = this.#stale(key);
      if (known === undefined || !isUnavailable(error)) throw error;
      return known.record;
    }
  }

  /** Makes the next callers read their records; until that succeeds, `loadOrStale` may still return the old ones. */
  expire(): void {
    this.#changes += 1;
    this.#reads.expire();
  }

  /** Drops the records: they have changed, and the old ones must not be used any more. */
  forget(): void {
    this.expire();
    this.#oldestUsable = this.#changes;
  }

  /** Looks whether the database is back. Nobody waits for this read, and what came of it is in `#awayAt`. */
  #readIfDue(key: BucketKey, awayAt: number): void {
    if (performance.now() - awayAt >= freshMs) this.#reads.load(key).catch(() => {});
  }

  #entry(key: BucketKey): CacheEntry | undefined {
    return this.#found.get(key) ?? this.#missing.get(key);
  }

  #fresh(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entry(key);
    return entry?.changes === this.#changes && isYounger(entry, freshMs) ? entry : undefined;
  }

  #stale(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entry(key);
    return entry !== undefined && entry.changes >= this.#oldestUsable && isYounger(entry, this.#staleMs)
      ? entry
      : undefined;
  }

  async #read(keys: ReadonlySet<BucketKey>): Promise<ReadonlyMap<BucketKey, Bucket>> {
    const read = { readAt: performance.now(), changes: this.#changes };
    try {
      const rows = await this.#readRows(keys);
      this.#awayAt = undefined;
      const records = new Map<BucketKey, Bucket>();
      for (const [key, row] of rows) records.set(key, this.#same(row));
      for (const key of keys) this.#keep(key, { ...read, record: records.get(key) });
      return records;
    } catch (error) {
      this.#awayAt = isUnavailable(error) ? performance.now() : undefined;
      throw error;
    }
  }

  /** A record that did not change stays the same object, so that what was derived from it is still valid. */
  #same(row: Bucket): Bucket {
    const old = this.#found.get(row.name)?.record;
    return old !== undefined && Bun.deepEquals(old, row) ? old : row;
  }

  #keep(key: BucketKey, entry: CacheEntry): void {
    // A change while the rows were on their way makes them old news.
    if (entry.changes !== this.#changes) return;
    const { record } = entry;
    if (record === undefined) {
      this.#found.delete(key);
      // A name of any length can be asked for; only those that a bucket can have are worth the memory.
      if (key === httpRoot || isBucketName(key)) store(this.#missing, key, entry);
      dropOldest(this.#missing, maxMissing);
      return;
    }
    this.#missing.delete(key);
    store(this.#found, record.name, entry);
    if (key === httpRoot) store(this.#found, key, entry);
    dropOldest(this.#found, maxRecords);
  }
}

function isYounger({ readAt }: CacheEntry, ageMs: number): boolean {
  return readAt + ageMs > performance.now();
}

/** Puts an entry last. */
function store(entries: Map<BucketKey, CacheEntry>, key: BucketKey, entry: CacheEntry): void {
  entries.delete(key);
  entries.set(key, entry);
}

/** Drops the first entry when there are too many. */
function dropOldest(entries: Map<BucketKey, CacheEntry>, max: number): void {
  if (entries.size <= max) return;
  const [first] = entries.keys();
  if (first !== undefined) entries.delete(first);
}
