import { messageOf } from "../../base/fault.ts";
import type { Database } from "../../db/database.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans, quietly } from "../../log/span.ts";

/** The interval of the looks at all heads, where the database has to be asked for them. */
const pollMs = 400;
/** What a look found is valid until so long after it began: then a change by another node is seen at the latest. */
const leaseMs = 1000;
/** Without a question for this long, nobody looks. */
const idleMs = 10_000;

export interface HeadsOptions {
  readonly database: Pick<Database, "heads" | "dataVersion">;
  /** How long the last known versions are used while the database is away. */
  readonly staleMs: number;
  readonly log: Logger;
}

/**
 * Heads are the versions of all buckets as this process knows them, for answers from memory. On SQLite they are exact: every question looks whether the
 * database has changed. On PostgreSQL they are leased: one query reads all of them every 400 ms while anybody asks, and they are valid
 * until a second after it began. Changes by this process are known at once.
 */
export class Heads {
  readonly #options: HeadsOptions;
  #known = new Map<string, number>();
  /** What strict reads and own changes found while a look was under way: it may have begun before. */
  #newer = new Map<string, number>();
  /** The version of the database that all known versions are of, on SQLite. */
  #dataVersion: number | undefined;
  /** When the last look that succeeded began, by a clock that nobody sets. */
  #readAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #polling = false;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: HeadsOptions) {
    this.#options = options;
  }

  /** Whether rows can be read without waiting. */
  get readsNow(): boolean {
    return this.readUnlessAway(() => this.#options.database.dataVersion) !== undefined;
  }

  /** Whether a bucket has this version, as far as this process may rely on what it knows. Synchronous. */
  isCurrent(bucketPath: string, version: number): boolean {
    const dataVersion = this.readUnlessAway(() => this.#options.database.dataVersion);
    if (dataVersion !== undefined) return this.#exact(bucketPath, dataVersion) === version;
    const now = performance.now();
    this.#askedAt = now;
    if (!this.#polling) this.#poll();
    if (this.#known.get(bucketPath) !== version) return false;
    return now < this.#readAt + leaseMs || (this.#isAway && now < this.#readAt + this.#options.staleMs);
  }

  /** To be called with every version that was read or written: a version never becomes smaller. */
  saw(bucketPath: string, version: number): void {
    for (const versions of [this.#known, this.#newer])
      if ((versions.get(bucketPath) ?? -1) < version) versions.set(bucketPath, version);
  }

  /** Runs a synchronous read; undefined while the database is away, and where it cannot be read without waiting. */
  readUnlessAway<T>(read: () => T): T | undefined {
    try {
      const result = read();
      if (result !== undefined) this.#isAway = false;
      return result;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#isAway = true;
      return undefined;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #exact(bucketPath: string, dataVersion: number): number | undefined {
    const { database } = this.#options;
    if (dataVersion !== this.#dataVersion) {
      this.#known.clear();
      this.#newer.clear();
      this.#dataVersion = dataVersion;
    }
    this.#readAt = performance.now();
    const known =
      this.#known.get(bucketPath) ?? this.readUnlessAway(() => database.heads.versionNow(bucketPath));
    if (known !== undefined) this.#known.set(bucketPath, known);
    return known;
  }

  #poll(): void {
    this.#polling = true;
    outsideSpans(() => void this.#look());
  }

  async #look(): Promise<void> {
    const startedAt = performance.now();
    this.#newer = new Map();
    try {
      // Nobody asked for it, so its statements are not in the log.
      const read = await quietly(() => this.#options.database.heads.versions());
      for (const [path, version] of this.#newer)
        if ((read.get(path) ?? -1) < version) read.set(path, version);
      this.#known = read;
      this.#readAt = startedAt;
      this.#isAway = false;
    } catch (error) {
      this.#isAway = isUnavailable(error);
      this.#options.log.debug("the versions of the buckets cannot be read", { reason: messageOf(error) });
    }
    if (this.#closed || performance.now() - this.#askedAt > idleMs) {
      this.#polling = false;
      return;
    }
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, pollMs - (performance.now() - startedAt)));
    this.#timer.unref();
  }
}
