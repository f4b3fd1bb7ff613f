// What this process remembers of the database is a value, when its read began, and the epoch in which it was true. SQLite tells its epoch,
// a number that changes with every commit of any process, without waiting: a value is current while the epoch is the same. PostgreSQL
// would have to be asked: a value is current for a second after its read began, and polls and hints bring a new one sooner.

import { atMost, type Clock } from "../base/clock.ts";
import type { Dialect } from "./dialect.ts";
import { isUnavailable } from "./unavailable.ts";

/**
 * What was read of a database that has to be asked is current for `maxAgeMs` after the read began: another node, or an operator's SQL,
 * may change it. Changes of this process are seen at once.
 */
const maxAgeMs = 1000;
/** A request that a known value could answer waits no longer than this for the database, which may be silent for seconds. */
const maxReadWaitMs = 200;

/** Stamp is when a read began, and in which epoch. */
export interface Stamp {
  /** By a clock that nobody sets: a step of the time of day must not make a value current for hours. */
  readonly readAt: number;
  /** Undefined where the database does not tell it. */
  readonly epoch: number | undefined;
}

const never = Number.NEGATIVE_INFINITY;

interface EpochSource {
  readonly dataVersion: number | undefined;
  readonly canReadSync: boolean;
  readonly clock: Clock;
}

/** Freshness says how long this process may use what it has read of one database. */
export class Freshness {
  readonly clock: Clock;
  /** Whether a value may be older than a request that it answers: then a request that wants the present state has to read. */
  readonly mayLag: boolean;
  readonly #database: EpochSource;
  readonly #staleMs: number;
  /** The epoch that the database told last, and when. */
  #latest: Stamp = { epoch: undefined, readAt: never };
  /** Whether a database that has to be asked did not answer when it was last asked. */
  #isLost = false;

  /** `staleMs` is how long known values are used while the database is away. */
  constructor(database: EpochSource, staleMs = 0) {
    this.#database = database;
    this.#staleMs = staleMs;
    this.clock = database.clock;
    this.mayLag = !database.canReadSync;
  }

  get now(): number {
    return this.clock.monotonic();
  }

  /** Whether the database did not answer when it was last asked. */
  get isAway(): boolean {
    return this.mayLag ? this.#isLost : this.#epoch() === undefined;
  }

  /** stamp returns the stamp of a read that begins now. */
  stamp(): Stamp {
    return { readAt: this.now, epoch: this.#epoch() };
  }

  /** isCurrent returns whether a value may be used for an answer; while the database is away, also one that may be old. */
  isCurrent(stamp: Stamp): boolean {
    const epoch = this.#epoch();
    if (epoch !== undefined) return stamp.epoch === epoch;
    if (stamp.epoch !== this.#latest.epoch) return false;
    if (this.mayLag && this.isYoung(stamp.readAt)) return true;
    return this.isAway && this.isUsable(this.trueAt(stamp));
  }

  /** trueAt returns when a value was last known to be true. */
  trueAt({ epoch, readAt }: Stamp): number {
    return epoch !== undefined && epoch === this.#latest.epoch ? this.#latest.readAt : readAt;
  }

  /** isYoung returns whether a value that was read then is valid without asking for the epoch. */
  isYoung(readAt: number): boolean {
    return readAt + maxAgeMs > this.now;
  }

  /** isUsable returns whether a value that was true then may be used while the database is away. */
  isUsable(trueAt: number): boolean {
    return trueAt + this.#staleMs > this.now;
  }

  /** To be called when a read has ended that asked the database. Where the epoch can be told, that says more. */
  asked({ isAnswered }: { readonly isAnswered: boolean }): void {
    this.#isLost = !isAnswered;
  }

  /** readSync runs a synchronous read; undefined while the database is away, and where it cannot be read without waiting. */
  readSync<T>(read: () => T): T | undefined {
    if (this.mayLag) return undefined;
    try {
      return read();
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  /** readOrKnown returns what `read` finds. While the database is away, or silent for `maxReadWaitMs`, it returns what is known. */
  async readOrKnown<T>(read: () => Promise<T>, known: () => { readonly value: T } | undefined): Promise<T> {
    const expected = this.isAway ? known() : undefined;
    if (expected !== undefined) return expected.value;
    try {
      const reading = read();
      const result = reading.then((value) => ({ value }));
      const soon = await atMost(result, { ms: maxReadWaitMs, clock: this.clock });
      if (soon !== undefined) return soon.value;
      const found = known();
      if (found === undefined) return await reading;
      // The read goes on; the next one shows whether the database is back.
      this.asked({ isAnswered: false });
      return found.value;
    } catch (error) {
      const found = isUnavailable(error) ? known() : undefined;
      if (found === undefined) throw error;
      return found.value;
    }
  }

  #epoch(): number | undefined {
    const epoch = this.readSync(() => this.#database.dataVersion);
    if (epoch !== undefined) this.#latest = { epoch, readAt: this.now };
    return epoch;
  }
}

/** askedFreshness returns the freshness of answers that only a query can renew, whatever the database tells of its epoch. */
export function askedFreshness(clock: Clock): Freshness {
  return new Freshness({ dataVersion: undefined, canReadSync: false, clock });
}

/** Remembered keeps entries by key, within two numbers: those without a value are counted apart, as anybody may ask for any key. */
export class Remembered<K, E extends { readonly value: unknown }> {
  readonly found = new Map<K, E>();
  readonly #missing = new Map<K, E>();
  readonly #max: { readonly found: number; readonly missing: number };

  constructor(max: { readonly found: number; readonly missing: number }) {
    this.#max = max;
  }

  get(key: K): E | undefined {
    return this.found.get(key) ?? this.#missing.get(key);
  }

  /** put replaces what is known of a key. */
  put(key: K, entry: E): void {
    this.delete(key);
    if (entry.value === undefined) putLast(this.#missing, { key, entry, max: this.#max.missing });
    else putLast(this.found, { key, entry, max: this.#max.found });
  }

  delete(key: K): void {
    this.found.delete(key);
    this.#missing.delete(key);
  }
}

interface BoundedEntry<K, E> {
  readonly key: K;
  readonly entry: E;
  readonly max: number;
}

/** `putLast` puts an entry last, and drops the first one if there are too many. */
export function putLast<K, E>(entries: Map<K, E>, { key, entry, max }: BoundedEntry<K, E>): void {
  entries.delete(key);
  entries.set(key, entry);
  if (entries.size <= max) return;
  for (const first of entries.keys()) {
    entries.delete(first);
    return;
  }
}

/**
 * RowCache caches values of rows while the epoch is the same: such a value is never older than a new read would be. Where the database
 * does not tell its epoch, nothing is cached. Throws while the database is away.
 */
export class RowCache<V> {
  readonly #dialect: Pick<Dialect, "dataVersion">;
  readonly #values: Remembered<string, { readonly value: V; readonly epoch: number }>;

  constructor(dialect: Pick<Dialect, "dataVersion">, { maxValues }: { readonly maxValues: number }) {
    this.#dialect = dialect;
    this.#values = new Remembered({ found: maxValues, missing: 0 });
  }

  get(key: string): V | undefined {
    const epoch = this.#dialect.dataVersion?.();
    const known = this.#values.get(key);
    return known?.epoch === epoch ? known?.value : undefined;
  }

  /** read returns the cached value, or what `load` reads, which is cached if `mayCache` returns true. */
  async read<T extends V | undefined>(
    key: string,
    load: () => Promise<T>,
    mayCache: (value: V) => boolean = () => true,
  ): Promise<V | T> {
    const cached = this.get(key);
    if (cached !== undefined && mayCache(cached)) return cached;
    // Before the read: a change while the value is read makes it one of an older epoch.
    const epoch = this.#dialect.dataVersion?.();
    const value = await load();
    if (value !== undefined && epoch !== undefined && mayCache(value))
      this.#values.put(key, { value, epoch });
    return value;
  }
}
