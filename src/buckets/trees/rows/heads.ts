import type { Clock } from "../../../base/clock.ts";
import type { Database } from "../../../db/database.ts";
import type { HeadValue } from "../../../db/rows/entry-values.ts";
import { isUnavailable } from "../../../db/unavailable.ts";
import { maxAgeMs } from "../../bucket-cache.ts";
import type { HeadListener } from "../../ports.ts";
import { KnownRows, type LastHead } from "./known-rows.ts";

/** Head is what tells one state of a bucket's files from all others: `root` is another one after the bucket was emptied. */
export type Head = Pick<HeadValue, "version" | "root">;

/** Heads are the versions of all buckets as this process knows them, for answers from memory. */
export interface Heads extends HeadListener {
  /** Whether a bucket is in this state, as far as this process may rely on what it knows. Synchronous. */
  isCurrent(bucketPath: string, head: Head): boolean;
  /**
   * To be called with every head that was read or written by other means than a read of `BucketCache`: a version never becomes
   * smaller.
   */
  saw(bucketPath: string, head: HeadValue): void;
  /** Whether the database did not answer when it was last asked. */
  readonly isAway: boolean;
  /** Undefined if nothing is known, or if it is not known which of two trees is the present one. */
  last(bucketPath: string): LastHead | undefined;
  /** The rows that were read, for answers while the database is away. */
  readonly known: KnownRows;
  /** Runs a synchronous read; undefined while the database is away, and where it cannot be read without waiting. */
  readSync<T>(read: () => T): T | undefined;
}

interface HeadsOptions {
  readonly database: Pick<Database, "heads" | "dataVersion" | "canReadSync" | "clock">;
  /** How long the last known versions are used while the database is away. */
  readonly staleMs: number;
}

/** openHeads returns exact heads if the database can be read without waiting, and polled ones otherwise. */
export function openHeads({ database, staleMs }: HeadsOptions): Heads {
  return database.canReadSync ? new ExactHeads(database, staleMs) : new PolledHeads(staleMs, database.clock);
}

/** ExactHeads is for a database that can be read without waiting: every question checks whether it has changed. */
class ExactHeads implements Heads {
  readonly known: KnownRows;
  readonly #database: Pick<Database, "heads" | "dataVersion" | "clock">;
  readonly #staleMs: number;
  readonly #versions = new Map<string, number>();
  /** The version of the database that all known versions are of. */
  #dataVersion: number | undefined;
  /** When the database last told its version, by a clock that nobody sets. */
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(database: Pick<Database, "heads" | "dataVersion" | "clock">, staleMs: number) {
    this.#database = database;
    this.#staleMs = staleMs;
    this.known = new KnownRows(staleMs, database.clock);
  }

  get isAway(): boolean {
    return this.readSync(() => this.#database.dataVersion) === undefined;
  }

  /** The root is that of the tree that was read last: another process may have published another one that nobody has seen here. */
  last(bucketPath: string): LastHead {
    return { version: this.#versions.get(bucketPath), root: undefined, readAt: this.#readAt };
  }

  isCurrent(bucketPath: string, { version }: Head): boolean {
    const dataVersion = this.readSync(() => this.#database.dataVersion);
    if (dataVersion !== undefined) return this.#versionIn(bucketPath, dataVersion) === version;
    return (
      this.#versions.get(bucketPath) === version &&
      this.#database.clock.monotonic() < this.#readAt + this.#staleMs
    );
  }

  readSync<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  /** The database tells more, until it is away: then no older version may count. */
  saw(bucketPath: string, head: HeadValue): void {
    this.known.saw(bucketPath, head);
    if ((this.#versions.get(bucketPath) ?? 0) < head.version) this.#versions.set(bucketPath, head.version);
  }

  /** The database tells more than these could. */
  headRead(): void {}
  databaseIsAway(): void {}

  #versionIn(bucketPath: string, dataVersion: number): number | undefined {
    if (dataVersion !== this.#dataVersion) {
      this.#versions.clear();
      this.#dataVersion = dataVersion;
    }
    this.#readAt = this.#database.clock.monotonic();
    const known =
      this.#versions.get(bucketPath) ?? this.readSync(() => this.#database.heads.versionSync(bucketPath));
    if (known !== undefined) this.#versions.set(bucketPath, known);
    return known;
  }
}

/** KnownHead is the head of a bucket as this process knows it. Times are of a clock that nobody sets. */
interface KnownHead {
  /** Undefined while two roots were seen and the present one is unknown: then no answer counts as current. */
  version: number | undefined;
  readonly root: string;
  /** When the read began that last found it. */
  readAt: number;
  /** When something newer than that read was seen: a read that began before may not have found it. */
  seenAt: number;
}

const never = Number.NEGATIVE_INFINITY;

/**
 * PolledHeads is for a database that has to be asked. `BucketCache` reads the heads, and a head is valid for `maxAgeMs` after its
 * read began: then a change by another node is seen at the latest. Of two reads, the one that began later
 * counts, whichever ended first. Changes by this process are known at once.
 */
export class PolledHeads implements Heads {
  readonly known: KnownRows;
  readonly #staleMs: number;
  readonly #clock: Clock;
  readonly #heads = new Map<string, KnownHead>();
  #isAway = false;

  constructor(staleMs: number, clock: Clock) {
    this.#staleMs = staleMs;
    this.#clock = clock;
    this.known = new KnownRows(staleMs, clock);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  last(bucketPath: string): LastHead | undefined {
    const known = this.#heads.get(bucketPath);
    return known?.version === undefined ? undefined : known;
  }

  isCurrent(bucketPath: string, { version, root }: Head): boolean {
    const known = this.#heads.get(bucketPath);
    if (known?.version !== version || known.root !== root) return false;
    const ageMs = this.#clock.monotonic() - known.readAt;
    return ageMs < maxAgeMs || (this.#isAway && ageMs < this.#staleMs);
  }

  saw(bucketPath: string, head: HeadValue): void {
    const { version, root } = head;
    this.known.saw(bucketPath, head);
    const known = this.#heads.get(bucketPath);
    if (known === undefined) {
      this.#heads.set(bucketPath, { version, root, readAt: never, seenAt: this.#clock.monotonic() });
      return;
    }
    if (known.version === undefined) return;
    const isSame = known.root === root;
    if (isSame && known.version >= version) return;
    known.version = isSame ? version : undefined;
    known.seenAt = this.#clock.monotonic();
  }

  headRead(bucketPath: string, head: Head | undefined, begunAt: number): void {
    this.#isAway = false;
    const known = this.#heads.get(bucketPath);
    if (known !== undefined && known.readAt > begunAt) return;
    if (known !== undefined && known.seenAt >= begunAt) {
      known.readAt = begunAt;
      if (known.root !== head?.root) known.version = undefined;
      else if (known.version !== undefined) known.version = Math.max(known.version, head.version);
    } else if (head === undefined) this.#heads.delete(bucketPath);
    else {
      const { version, root } = head;
      this.#heads.set(bucketPath, { version, root, readAt: begunAt, seenAt: never });
    }
  }

  databaseIsAway(): void {
    this.#isAway = true;
  }

  readSync(): undefined {
    return undefined;
  }
}
