import { BatchLoader } from "../base/batch-loader.ts";
import { atMost, type Clock } from "../base/clock.ts";
import { Task } from "../base/task.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { quietly } from "../log/span.ts";
import { type Bucket, isBucketName } from "./record.ts";

/**
 * A cached record is valid for `maxAgeMs` after the query that read it began: another server, or an operator's SQL, may change
 * it. Changes of this process are seen at once.
 */
export const maxAgeMs = 1000;
/** A request that a known record could answer waits no longer than this for the database, which may be silent for seconds. */
export const maxReadWaitMs = 200;
/** The interval at which all buckets in use are read, where the database has to be asked. */
const pollMs = 400;
/** The interval of two polls if a hint came between them. */
const hintMs = 20;
/** A bucket that nobody asked for during this many polls (10 seconds) is left out. */
const maxIdlePolls = 25;
/** Limits of cached records, and of names that no bucket has. The entry that was read longest ago is removed first. */
const maxRecords = 10_000;
const maxMissing = 1000;

/** The key of the bucket that answers the HTTP root; every other key is a bucket's name, or a `hostKey`. */
export const httpRoot = Symbol("HTTP root");
export type BucketKey = string | typeof httpRoot;

/** `hostKey` returns the key of the bucket that a host name belongs to. No bucket's name contains NUL. */
export function hostKey(host: string): BucketKey {
  return `\0${host}`;
}

/** A cached answer for one key: a record, or that there is none. */
interface CacheEntry {
  readonly record: Bucket | undefined;
  /** When the read began, by a clock that nobody sets: a step of the time of day must not make records valid for hours. */
  readonly readAt: number;
  /** The number of changes that this process had made when the read began. */
  readonly changes: number;
  /** Polls since somebody asked for it. */
  idlePolls: number;
}

export interface BucketCacheOptions {
  /** Reads the buckets with these keys, and all that have host names, from the database. */
  readonly read: (
    keys: ReadonlySet<BucketKey>,
    begunAt: number,
  ) => Promise<ReadonlyMap<BucketKey, BucketState>>;
  /** Called when a request has waited too long for a read: known records count then as if the database were away. */
  readonly onSilence: () => void;
  /** The time for which `loadOrStale` returns old records while the database is away. */
  readonly staleMs: number;
  /** Whether the buckets in use are read every `pollMs`, so that requests seldom wait for a read. */
  readonly polls: boolean;
  readonly clock: Clock;
}

/**
 * BucketCache caches the records of buckets. A read is one query for all keys that were asked for before it was sent. There is one
 * read at a time, so an earlier result never replaces a later one. It has more than 15 methods because every question about a record
 * (by name, by host, fresh or stale, with or without waiting) is answered by the same rules of age.
 */
export class BucketCache {
  readonly #options: BucketCacheOptions;
  readonly #found = new Map<BucketKey, CacheEntry>();
  readonly #missing = new Map<BucketKey, CacheEntry>();
  readonly #reads: BatchLoader<BucketKey, BucketState>;
  #hosts: ReadonlyMap<string, string> = new Map();
  #changes = 0;
  /** Entries from before this many changes must not be used, not even while the database is away. */
  #oldestUsable = 0;
  /** When a read last failed because the database is away, or kept a request waiting; undefined since a read succeeded. */
  #awayAt: number | undefined;
  readonly #poll: Task;
  /** When the last poll began. */
  #polledAt = Number.NEGATIVE_INFINITY;
  #isHinted = false;

  constructor(options: BucketCacheOptions) {
    this.#options = options;
    this.#reads = new BatchLoader((keys) => this.#readBatch(keys));
    this.#poll = new Task({
      clock: options.clock,
      run: () => this.#pollAll(),
      // Its failure is in `#awayAt`.
      failed: () => {},
    });
  }

  /** Whether a record may be older than a request that it answers: then a request that wants the present state needs `read`. */
  get mayLag(): boolean {
    return this.#options.polls;
  }

  /**
   * Whether the cache has exactly this record, and it is fresh; while the database is away, whether `loadOrStale` would return it.
   * Synchronous; waits for no read.
   */
  isCurrent(bucket: Bucket): boolean {
    if (this.#fresh(bucket.name)?.record === bucket) return true;
    if (this.#awayAt === undefined || this.#stale(bucket.name)?.record !== bucket) return false;
    this.#readIfDue(bucket.name, this.#awayAt);
    return true;
  }

  /**
   * Host names with the names of their buckets. Every read of a record also reads them, so they are as fresh as any record. The same
   * object until one changes.
   */
  get hosts(): ReadonlyMap<string, string> {
    return this.#hosts;
  }

  /** readRoot reads the bucket that answers at the root of a host, by its host name or as the HTTP root. */
  async readRoot(host: string): Promise<BucketState | undefined> {
    const states = await this.#reads.loadMany([httpRoot, hostKey(host)]);
    return states.get(hostKey(host)) ?? states.get(httpRoot);
  }

  /** rootOrStale returns the bucket at the root of a host, as `loadOrStale` does for a key. */
  async rootOrStale(host: string): Promise<Bucket | undefined> {
    const key = this.#rootKey(host);
    const record = await this.loadOrStale(key);
    // The read may have found other host names.
    const present = this.#rootKey(host);
    return present === key ? record : this.loadOrStale(present);
  }

  /**
   * ownerOrStale returns the name of the bucket that a host name belongs to, also while the bucket is off. While the database is away it
   * returns what the last read found.
   */
  async ownerOrStale(host: string): Promise<string | undefined> {
    try {
      await this.loadOrStale(httpRoot);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    return this.#hosts.get(host);
  }

  /** rootName returns the name of the bucket at the root of a host, as the last read found it. Synchronous, for the access log. */
  rootName(host: string): string | undefined {
    return this.#hosts.get(host) ?? this.#found.get(httpRoot)?.record?.name;
  }

  #rootKey(host: string): BucketKey {
    return this.#hosts.has(host) ? hostKey(host) : httpRoot;
  }

  /** read reads the state of a bucket; undefined when there is no such bucket. Throws while the database is away. */
  read(key: BucketKey): Promise<BucketState | undefined> {
    return this.#reads.load(key);
  }

  /**
   * loadOrStale returns a record that is still valid, or else reads it. While the database is away, or does not answer soon, it
   * returns the last known record, unless that is older than `staleMs`.
   */
  async loadOrStale(key: BucketKey): Promise<Bucket | undefined> {
    const entry = this.#fresh(key);
    if (entry !== undefined) return entry.record;
    const stale = this.#stale(key);
    if (stale !== undefined && this.#awayAt !== undefined) {
      this.#readIfDue(key, this.#awayAt);
      return stale.record;
    }
    const reading = this.read(key).then((state) => state?.record);
    try {
      return await (stale === undefined ? reading : this.#answeredSoon(reading, stale));
    } catch (error) {
      const known = this.#stale(key);
      if (known === undefined || !isUnavailable(error)) throw error;
      return known.record;
    }
  }

  /** Returns the result of a read that ends soon, else the known record. The read goes on; its end shows whether the database is back. */
  async #answeredSoon(
    reading: Promise<Bucket | undefined>,
    { record }: CacheEntry,
  ): Promise<Bucket | undefined> {
    const { clock, onSilence } = this.#options;
    const found = await atMost(reading, { ms: maxReadWaitMs, late: "late" as const, clock });
    if (found !== "late") return found;
    this.#awayAt = clock.monotonic();
    onSilence();
    return record;
  }

  /** expire makes the next callers read again. Until a read succeeds, `loadOrStale` may still return the old records. */
  expire(): void {
    this.#changes += 1;
  }

  /** forget drops the records: they have changed, and the old ones must not be used any more. */
  forget(): void {
    this.expire();
    this.#oldestUsable = this.#changes;
  }

  /** pollSoon makes the next poll come at once: another node may have changed something. Without a poll, nothing happens. */
  pollSoon(): void {
    this.#isHinted = true;
    this.#pollLater(this.#polledAt);
  }

  close(): void {
    void this.#poll.close();
  }

  /** Checks whether the database is back. Nobody waits for the read, whose outcome is in `#awayAt`. */
  #readIfDue(key: BucketKey, awayAt: number): void {
    if (this.#options.clock.monotonic() - awayAt >= maxAgeMs) this.read(key).catch(() => {});
  }

  #entry(key: BucketKey): CacheEntry | undefined {
    const entry = this.#found.get(key) ?? this.#missing.get(key);
    if (entry !== undefined) entry.idlePolls = 0;
    return entry;
  }

  #fresh(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entry(key);
    return entry?.changes === this.#changes && this.#isYounger(entry, maxAgeMs) ? entry : undefined;
  }

  #stale(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entry(key);
    return entry !== undefined &&
      entry.changes >= this.#oldestUsable &&
      this.#isYounger(entry, this.#options.staleMs)
      ? entry
      : undefined;
  }

  #isYounger({ readAt }: CacheEntry, ageMs: number): boolean {
    return readAt + ageMs > this.#options.clock.monotonic();
  }

  async #readBatch(keys: ReadonlySet<BucketKey>): Promise<ReadonlyMap<BucketKey, BucketState>> {
    const begun = { readAt: this.#options.clock.monotonic(), changes: this.#changes };
    try {
      const read = await this.#options.read(keys, begun.readAt);
      this.#awayAt = undefined;
      const states = new Map<BucketKey, BucketState>();
      const hosts = new Map<string, string>();
      for (const [key, state] of read) {
        const record = this.#same(state.record);
        states.set(key, { ...state, record });
        for (const host of record.hosts) {
          hosts.set(host, record.name);
          states.set(hostKey(host), { ...state, record });
        }
      }
      if (!Bun.deepEquals(this.#hosts, hosts)) this.#hosts = hosts;
      for (const key of keys) this.#keep(key, { ...begun, record: states.get(key)?.record });
      return states;
    } catch (error) {
      this.#awayAt = isUnavailable(error) ? this.#options.clock.monotonic() : undefined;
      throw error;
    } finally {
      this.#pollLater(begun.readAt);
    }
  }

  /** Makes the next poll due `pollMs` after a read began, at the latest: a read of some buckets does not delay the poll of all. */
  #pollLater(begunAt: number): void {
    if (!this.#options.polls) return;
    this.#poll.dueIn(begunAt + (this.#isHinted ? hintMs : pollMs) - this.#options.clock.monotonic());
  }

  async #pollAll(): Promise<void> {
    this.#polledAt = this.#options.clock.monotonic();
    const isHinted = this.#isHinted;
    this.#isHinted = false;
    const keys: BucketKey[] = [];
    for (const [key, entry] of this.#found) {
      if (!isHinted) entry.idlePolls += 1;
      if (entry.idlePolls <= maxIdlePolls) keys.push(key);
    }
    // Nobody asked for it, so its statements are not in the log.
    if (keys.length > 0) await quietly(() => this.#reads.loadMany(keys));
  }

  /** A record that did not change stays the same object, so that what was derived from it is still valid. */
  #same(row: Bucket): Bucket {
    const old = this.#found.get(row.name)?.record;
    return old !== undefined && Bun.deepEquals(old, row) ? old : row;
  }

  #keep(key: BucketKey, read: Omit<CacheEntry, "idlePolls">): void {
    // A change while the rows were on their way makes them old news.
    if (read.changes !== this.#changes) return;
    const { record } = read;
    const idlePolls = this.#found.get(key)?.idlePolls ?? 0;
    const entry: CacheEntry = { ...read, idlePolls };
    if (record === undefined) {
      this.#found.delete(key);
      // A name of any length can be asked for; only those that a bucket can have are worth the memory.
      if (key === httpRoot || isBucketName(key)) putLast(this.#missing, key, entry);
      dropOldest(this.#missing, maxMissing);
      return;
    }
    this.#missing.delete(key);
    putLast(this.#found, record.name, entry);
    if (key !== record.name) putLast(this.#found, key, { ...entry });
    dropOldest(this.#found, maxRecords);
  }
}

/** Puts an entry last. */
function putLast(entries: Map<BucketKey, CacheEntry>, key: BucketKey, entry: CacheEntry): void {
  entries.delete(key);
  entries.set(key, entry);
}

/** Drops the first entry when there are too many. */
function dropOldest(entries: Map<BucketKey, CacheEntry>, max: number): void {
  if (entries.size <= max) return;
  const [first] = entries.keys();
  if (first !== undefined) entries.delete(first);
}
