import { BatchLoader } from "../base/concurrency.ts";
import { Task } from "../base/task.ts";
import { type Freshness, Remembered, type Stamp } from "../db/freshness.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { quietly } from "../log/span.ts";
import { type Bucket, isBucketName } from "./record.ts";

/** The interval at which all buckets in use are read, where the database has to be asked. */
const pollMs = 400;
/** The interval of two polls if a hint came between them. */
const hintMs = 20;
/** A bucket that nobody asked for during this many polls (10 seconds) is left out. */
const maxIdlePolls = 25;
/** Limits of cached records, and of names that no bucket has. */
const maxRecords = 10_000;
const maxMissing = 1000;

/** The key of the bucket that answers the HTTP root; every other key is a bucket's name, or a `hostKey`. */
export const httpRoot = Symbol("HTTP root");
export type BucketKey = string | typeof httpRoot;

/** `hostKey` returns the key of the bucket that a host name belongs to. No bucket's name contains NUL. */
function hostKey(host: string): BucketKey {
  return `\0${host}`;
}

/** A cached answer for one key: a record, or that there is none. */
interface CacheEntry {
  readonly value: Bucket | undefined;
  readonly readAt: number;
  /** The number of changes that this process had made when the read began. */
  readonly changes: number;
  /** Polls since somebody asked for it. */
  idlePolls: number;
}

/** ReadBuckets reads the buckets with these keys, and all that have host names, from the database. */
type ReadBuckets = (
  keys: ReadonlySet<BucketKey>,
  begun: Stamp,
) => Promise<ReadonlyMap<BucketKey, BucketState>>;

/**
 * BucketCache caches the records of buckets. A read is one query for all keys that were asked for before it was sent. There is one
 * read at a time, so an earlier result never replaces a later one.
 */
export class BucketCache {
  readonly poll: BucketPoll;
  readonly #read: ReadBuckets;
  readonly #freshness: Freshness;
  readonly #entries = new Remembered<BucketKey, CacheEntry>({ found: maxRecords, missing: maxMissing });
  readonly #reads: BatchLoader<BucketKey, BucketState>;
  readonly #onHostsChanged: (() => void) | undefined;
  #hosts: ReadonlyMap<string, string> = new Map();
  #changes = 0;
  /** Entries from before this many changes must not be used, not even while the database is away. */
  #oldestUsable = 0;

  constructor(read: ReadBuckets, freshness: Freshness, onHostsChanged?: () => void) {
    this.#onHostsChanged = onHostsChanged;
    this.#read = read;
    this.#freshness = freshness;
    this.#reads = new BatchLoader((keys) => this.#readBatch(keys));
    this.poll = new BucketPoll(freshness, {
      entries: this.#entries.found,
      read: (keys) => this.#reads.loadMany(keys),
    });
  }

  /** Whether a record may be older than a request that it answers: then a request that wants the present state needs `read`. */
  get mayLag(): boolean {
    return this.#freshness.mayLag;
  }

  /**
   * Whether the cache has exactly this record, and it is fresh; while the database is away, whether `loadOrStale` would return it.
   * Synchronous; waits for no read.
   */
  isCurrent(bucket: Bucket): boolean {
    const entry = this.#entry(bucket.name);
    if (entry?.value !== bucket) return false;
    return this.#isFresh(entry) || (this.#freshness.isAway && this.#isUsable(entry));
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
    const keyOf = () => (this.#hosts.has(host) ? hostKey(host) : httpRoot);
    const key = keyOf();
    const record = await this.loadOrStale(key);
    // The read may have found other host names.
    const present = keyOf();
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
    return this.#hosts.get(host) ?? this.#entries.get(httpRoot)?.value?.name;
  }

  /** read reads the state of a bucket; undefined when there is no such bucket. Throws while the database is away. */
  read(key: BucketKey): Promise<BucketState | undefined> {
    return this.#reads.load(key);
  }

  /**
   * loadOrStale returns a record that is still valid, or else reads it. While the database is away, or does not answer soon, it
   * returns the last known record, unless that is too old.
   */
  async loadOrStale(key: BucketKey): Promise<Bucket | undefined> {
    const entry = this.#entry(key);
    if (entry !== undefined && this.#isFresh(entry)) return entry.value;
    const read = async () => (await this.read(key))?.record;
    return this.#freshness.readOrKnown(read, () => {
      const known = this.#entry(key);
      return known !== undefined && this.#isUsable(known) ? known : undefined;
    });
  }

  /**
   * changed makes the next callers read again. If it is not certain that the records were changed, `loadOrStale` may return the old ones
   * until a read succeeds.
   */
  changed({ isCertain }: { readonly isCertain: boolean }): void {
    this.#changes += 1;
    if (isCertain) this.#oldestUsable = this.#changes;
  }

  #entry(key: BucketKey): CacheEntry | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.idlePolls = 0;
    return entry;
  }

  #isFresh({ changes, readAt }: CacheEntry): boolean {
    return changes === this.#changes && this.#freshness.isYoung(readAt);
  }

  #isUsable({ changes, readAt }: CacheEntry): boolean {
    return changes >= this.#oldestUsable && this.#freshness.isUsable(readAt);
  }

  async #readBatch(keys: ReadonlySet<BucketKey>): Promise<ReadonlyMap<BucketKey, BucketState>> {
    const begun = this.#freshness.stamp();
    const changes = this.#changes;
    try {
      const read = await this.#read(keys, begun);
      this.#freshness.asked({ isAnswered: true });
      const states = new Map<BucketKey, BucketState>();
      const hosts = new Map<string, string>();
      for (const [key, state] of read) {
        const old = this.#entries.get(state.record.name)?.value;
        // A record that did not change stays the same object, so that what was derived from it is still valid.
        const record = Bun.deepEquals(old, state.record) ? (old as Bucket) : state.record;
        states.set(key, { ...state, record });
        for (const host of record.hosts) {
          hosts.set(host, record.name);
          states.set(hostKey(host), { ...state, record });
        }
      }
      if (!Bun.deepEquals(this.#hosts, hosts)) {
        this.#hosts = hosts;
        this.#onHostsChanged?.();
      }
      // A change while the rows were on their way makes them old news.
      if (changes === this.#changes)
        for (const key of keys)
          keep(this.#entries, key, { value: states.get(key)?.record, readAt: begun.readAt, changes });
      return states;
    } catch (error) {
      this.#freshness.asked({ isAnswered: !isUnavailable(error) });
      throw error;
    } finally {
      this.poll.dueAfter(begun.readAt);
    }
  }
}

function keep(
  entries: Remembered<BucketKey, CacheEntry>,
  key: BucketKey,
  read: Omit<CacheEntry, "idlePolls">,
): void {
  const { value } = read;
  const idlePolls = entries.found.get(key)?.idlePolls ?? 0;
  // A name of any length can be asked for; only those that a bucket can have are worth the memory.
  if (value === undefined && key !== httpRoot && !isBucketName(key)) entries.delete(key);
  else entries.put(key, { ...read, idlePolls });
  if (value !== undefined && key !== value.name) entries.put(value.name, { ...read, idlePolls });
}

interface BucketPollOptions {
  /** What is known of buckets, by key. */
  readonly entries: ReadonlyMap<BucketKey, CacheEntry>;
  readonly read: (keys: readonly BucketKey[]) => Promise<unknown>;
}

/** BucketPoll reads the buckets in use again and again where the database has to be asked, so that requests seldom wait for a read. */
class BucketPoll {
  readonly #freshness: Freshness;
  readonly #options: BucketPollOptions;
  readonly #task: Task;
  /** When the last poll began. */
  #polledAt = Number.NEGATIVE_INFINITY;
  #isHinted = false;

  constructor(freshness: Freshness, options: BucketPollOptions) {
    this.#freshness = freshness;
    this.#options = options;
    this.#task = new Task({
      clock: freshness.clock,
      run: () => this.#run(),
      // The cache has noted what its failure means.
      failed: () => {},
    });
  }

  /** soon makes the next poll come at once: another node may have changed something. */
  soon(): void {
    this.#isHinted = true;
    this.dueAfter(this.#polledAt);
  }

  /** dueAfter makes the next poll due `pollMs` after a read began, at the latest: a read of some buckets does not delay the poll of all. */
  dueAfter(begunAt: number): void {
    if (!this.#freshness.mayLag) return;
    this.#task.dueIn(begunAt + (this.#isHinted ? hintMs : pollMs) - this.#freshness.now);
  }

  close(): void {
    void this.#task.close();
  }

  async #run(): Promise<void> {
    this.#polledAt = this.#freshness.now;
    const isHinted = this.#isHinted;
    this.#isHinted = false;
    // While the database is away, this tells when it is back, whatever is in use.
    const keys: BucketKey[] = this.#freshness.isAway ? [httpRoot] : [];
    for (const [key, entry] of this.#options.entries) {
      if (!isHinted) entry.idlePolls += 1;
      if (entry.idlePolls <= maxIdlePolls) keys.push(key);
    }
    // Nobody asked for it, so its statements are not in the log.
    if (keys.length > 0) await quietly(() => this.#options.read(keys));
  }
}
