import { BatchLoader } from "../base/batch-loader.ts";
import type { Clock } from "../base/clock.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { outsideSpans, quietly } from "../log/span.ts";
import { type Bucket, isBucketName } from "./record.ts";

/**
 * What a look at the database found is used without another look until so long after it began: another server, or an operator's
 * SQL, may change it. Changes of this process are seen at once.
 */
export const leaseMs = 1000;
/** A request that could be answered by what is known waits for a look no longer than this: the database may be silent for seconds. */
export const maxLookWaitMs = 200;
/** The interval of the looks at all buckets that are asked for, where the database has to be asked. */
const pollMs = 400;
/** After a hint the next poll comes so long after the last one began. */
const hintMs = 20;
/** A bucket that nobody asked for during so many polls is left out: 10 seconds. */
const maxIdlePolls = 25;
/** Limits of cached records, and of names that no bucket has. The entry that was read longest ago is removed first. */
const maxRecords = 10_000;
const maxMissing = 1000;

/** The key of the bucket that answers the HTTP root; every other key is a bucket's name, or a `hostKey`. */
export const httpRoot = Symbol("HTTP root");
export type BucketKey = string | typeof httpRoot;

/** `hostKey` is the key of the bucket that a host name belongs to. No bucket's name contains NUL. */
export function hostKey(host: string): BucketKey {
  return `\0${host}`;
}

/** A cached answer for one key: a record, or that there is none. */
interface CacheEntry {
  readonly record: Bucket | undefined;
  /** When the look began, by a clock that nobody sets: a step of the time of day must not make records valid for hours. */
  readonly readAt: number;
  /** The number of changes that this process had made when the look began. */
  readonly changes: number;
  /** Polls since somebody asked for it. */
  idlePolls: number;
}

export interface BucketCacheOptions {
  /** One look: reads the buckets with these keys, and all that have host names, from the database. */
  readonly read: (
    keys: ReadonlySet<BucketKey>,
    begunAt: number,
  ) => Promise<ReadonlyMap<BucketKey, BucketState>>;
  /** Called when a request has waited for a look for too long, so that what is known counts as if the database were away. */
  readonly onSilence: () => void;
  /** The time for which `loadOrStale` returns old records while the database is away. */
  readonly staleMs: number;
  /** Whether the buckets that are asked for are looked at every 400 ms, so that requests seldom wait for a look. */
  readonly polls: boolean;
  readonly clock: Clock;
}

/**
 * BucketCache has the records of buckets as looks found them. A look is one query for all keys that were asked for before it was
 * sent, and there is one at a time, so what a later look found never gives way to an earlier one.
 */
export class BucketCache {
  readonly #options: BucketCacheOptions;
  readonly #found = new Map<BucketKey, CacheEntry>();
  readonly #missing = new Map<BucketKey, CacheEntry>();
  readonly #looks: BatchLoader<BucketKey, BucketState>;
  #hosts: ReadonlyMap<string, string> = new Map();
  #changes = 0;
  /** Entries from before this many changes must not be used, not even while the database is away. */
  #oldestUsable = 0;
  /** When a look last failed because the database is away, or kept a request waiting; undefined since one succeeded. */
  #awayAt: number | undefined;
  #poll: Disposable | undefined;
  /** When the last poll began. */
  #polledAt = Number.NEGATIVE_INFINITY;
  #isHinted = false;
  #closed = false;

  constructor(options: BucketCacheOptions) {
    this.#options = options;
    this.#looks = new BatchLoader((keys) => this.#look(keys));
  }

  /** Whether a record may be older than a request that is answered by it: then a request that wants the present state needs `look`. */
  get isLeased(): boolean {
    return this.#options.polls;
  }

  /**
   * Whether the cache has exactly this record, and it is fresh; while the database is away, whether `loadOrStale` would return it.
   * Synchronous; waits for no look.
   */
  isCurrent(bucket: Bucket): boolean {
    if (this.#fresh(bucket.name)?.record === bucket) return true;
    if (this.#awayAt === undefined || this.#stale(bucket.name)?.record !== bucket) return false;
    this.#lookIfDue(bucket.name, this.#awayAt);
    return true;
  }

  /**
   * Host names with the names of their buckets, as the last look found them: every look reads them, so they are as fresh as any record. The
   * same object until one changes.
   */
  get hosts(): ReadonlyMap<string, string> {
    return this.#hosts;
  }

  /** Looks: the state after this call of the bucket that answers at the root of a host, by its host name or as the HTTP root. */
  async lookAtRoot(host: string): Promise<BucketState | undefined> {
    const states = await this.#looks.loadMany([httpRoot, hostKey(host)]);
    return states.get(hostKey(host)) ?? states.get(httpRoot);
  }

  /** Is to `lookAtRoot` what `loadOrStale` is to `look`. */
  async rootOrStale(host: string): Promise<Bucket | undefined> {
    const key = this.#rootKey(host);
    const record = await this.loadOrStale(key);
    // A look may have found other host names.
    const present = this.#rootKey(host);
    return present === key ? record : this.loadOrStale(present);
  }

  /**
   * ownerOrStale returns the name of the bucket that a host name belongs to, also while the bucket is off. While the database is away it
   * is what the last look found.
   */
  async ownerOrStale(host: string): Promise<string | undefined> {
    try {
      await this.loadOrStale(httpRoot);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    return this.#hosts.get(host);
  }

  /** rootName returns the name of the bucket at the root of a host, as the last look found it. Synchronous, for the access log. */
  rootName(host: string): string | undefined {
    return this.#hosts.get(host) ?? this.#found.get(httpRoot)?.record?.name;
  }

  #rootKey(host: string): BucketKey {
    return this.#hosts.has(host) ? hostKey(host) : httpRoot;
  }

  /** Looks: the state of a bucket after this call, undefined when there is no such bucket; throws while the database is away. */
  look(key: BucketKey): Promise<BucketState | undefined> {
    return this.#looks.load(key);
  }

  /**
   * A record whose lease has not ended, else by a look; while the database is away, or does not answer soon, the last known record,
   * unless it is older than `staleMs`.
   */
  async loadOrStale(key: BucketKey): Promise<Bucket | undefined> {
    const entry = this.#fresh(key);
    if (entry !== undefined) return entry.record;
    const stale = this.#stale(key);
    if (stale !== undefined && this.#awayAt !== undefined) {
      this.#lookIfDue(key, this.#awayAt);
      return stale.record;
    }
    const looking = this.look(key).then((state) => state?.record);
    try {
      return await (stale === undefined ? looking : this.#answeredSoon(looking, stale));
    } catch (error) {
      const known = this.#stale(key);
      if (known === undefined || !isUnavailable(error)) throw error;
      return known.record;
    }
  }

  /** The result of a look that ends soon, else what is known. The look goes on, and its end tells whether the database answers again. */
  async #answeredSoon(
    looking: Promise<Bucket | undefined>,
    { record }: CacheEntry,
  ): Promise<Bucket | undefined> {
    const { promise, resolve } = Promise.withResolvers<Bucket | undefined>();
    using _ = this.#options.clock.after(maxLookWaitMs, () => {
      this.#awayAt = this.#options.clock.monotonic();
      this.#options.onSilence();
      resolve(record);
    });
    return await Promise.race([looking, promise]);
  }

  /** Makes the next callers look; until that succeeds, `loadOrStale` may still return the old records. */
  expire(): void {
    this.#changes += 1;
  }

  /** Drops the records: they have changed, and the old ones must not be used any more. */
  forget(): void {
    this.expire();
    this.#oldestUsable = this.#changes;
  }

  /** Makes the next poll come at once: another node may have changed something. Without a poll nobody asks, and nothing happens. */
  lookSoon(): void {
    this.#isHinted = true;
    if (this.#poll === undefined) return;
    this.#poll?.[Symbol.dispose]();
    this.#poll = undefined;
    this.#pollLater(this.#polledAt);
  }

  close(): void {
    this.#closed = true;
    this.#poll?.[Symbol.dispose]();
  }

  /** Looks whether the database is back. Nobody waits for it, and what came of it is in `#awayAt`. */
  #lookIfDue(key: BucketKey, awayAt: number): void {
    if (this.#options.clock.monotonic() - awayAt >= leaseMs) this.look(key).catch(() => {});
  }

  #entry(key: BucketKey): CacheEntry | undefined {
    const entry = this.#found.get(key) ?? this.#missing.get(key);
    if (entry !== undefined) entry.idlePolls = 0;
    return entry;
  }

  #fresh(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entry(key);
    return entry?.changes === this.#changes && this.#isYounger(entry, leaseMs) ? entry : undefined;
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

  async #look(keys: ReadonlySet<BucketKey>): Promise<ReadonlyMap<BucketKey, BucketState>> {
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

  /** While anybody asks, there is a poll `pollMs` after a look began. Other looks do not put it off: they are at some buckets only. */
  #pollLater(begunAt: number): void {
    if (!this.#options.polls || this.#closed || this.#poll !== undefined) return;
    const pauseMs = Math.max(
      0,
      begunAt + (this.#isHinted ? hintMs : pollMs) - this.#options.clock.monotonic(),
    );
    this.#poll = outsideSpans(() => this.#options.clock.after(pauseMs, () => this.#lookAtAll()));
  }

  #lookAtAll(): void {
    this.#poll = undefined;
    this.#polledAt = this.#options.clock.monotonic();
    const isHinted = this.#isHinted;
    this.#isHinted = false;
    const keys: BucketKey[] = [];
    for (const [key, entry] of this.#found) {
      if (!isHinted) entry.idlePolls += 1;
      if (entry.idlePolls <= maxIdlePolls) keys.push(key);
    }
    if (keys.length === 0) return;
    // Nobody asked for it, so its statements are not in the log; its failure is in `#awayAt`.
    quietly(() => this.#looks.loadMany(keys)).catch(() => {});
  }

  /** A record that did not change stays the same object, so that what was derived from it is still valid. */
  #same(row: Bucket): Bucket {
    const old = this.#found.get(row.name)?.record;
    return old !== undefined && Bun.deepEquals(old, row) ? old : row;
  }

  #keep(key: BucketKey, look: Omit<CacheEntry, "idlePolls">): void {
    // A change while the rows were on their way makes them old news.
    if (look.changes !== this.#changes) return;
    const { record } = look;
    const idlePolls = this.#found.get(key)?.idlePolls ?? 0;
    const entry: CacheEntry = { ...look, idlePolls };
    if (record === undefined) {
      this.#found.delete(key);
      // A name of any length can be asked for; only those that a bucket can have are worth the memory.
      if (key === httpRoot || isBucketName(key)) store(this.#missing, key, entry);
      dropOldest(this.#missing, maxMissing);
      return;
    }
    this.#missing.delete(key);
    store(this.#found, record.name, entry);
    if (key !== record.name) store(this.#found, key, { ...entry });
    dropOldest(this.#found, maxRecords);
  }
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
