import { isUnavailable } from "../db/unavailable.ts";
import type { Bucket } from "./record.ts";

/** How long records are believed that another server, or somebody's SQL, may have changed. Own changes count at once. */
const believedMs = 1000;

export interface BucketRecords {
  /** When the read began, by a clock that nobody sets: a step of the time of day must not make records valid for hours. */
  readonly readAt: number;
  readonly byName: ReadonlyMap<string, Bucket>;
  /** The bucket that answers the root, if it is enabled. */
  readonly root: Bucket | undefined;
}

/** The records of all buckets as last read from the database. */
export class BucketCache {
  #records: BucketRecords | undefined;
  /** The records may have changed since they were read. */
  #expired = false;
  #reading: Promise<BucketRecords> | undefined;
  /** When a read last failed because the database is away; undefined since one succeeded. */
  #awayAt: number | undefined;
  #lastRead: ReadonlyMap<string, Bucket> = new Map();

  constructor(
    private readonly list: () => Promise<readonly Bucket[]>,
    /** How long `loadOrStale` returns old records while the database is away. */
    private readonly staleMs: number,
  ) {}

  /** Records that are believed now, without asking the database. */
  get current(): BucketRecords | undefined {
    return this.#expired ? undefined : this.#youngerThan(believedMs);
  }

  /** Records that are at most `believedMs` old; throws while the database is away. */
  async load(): Promise<BucketRecords> {
    return this.current ?? this.#read();
  }

  /** The same, but while the database is away the last known records, unless they are older than `staleMs`. */
  async loadOrStale(): Promise<BucketRecords> {
    const { current } = this;
    if (current !== undefined) return current;
    const stale = this.#youngerThan(this.staleMs);
    if (stale !== undefined && this.#awayAt !== undefined) {
      // Nobody waits for this read, and what came of it is in `#awayAt`.
      if (performance.now() - this.#awayAt >= believedMs) this.#read().catch(() => {});
      return stale;
    }
    try {
      return await this.#read();
    } catch (error) {
      const known = this.#youngerThan(this.staleMs);
      if (known === undefined || !isUnavailable(error)) throw error;
      return known;
    }
  }

  /** Makes the next caller read the records; until that succeeds, `loadOrStale` may still return the old ones. */
  expire(): void {
    this.#expired = true;
    this.#reading = undefined;
  }

  /** Drops the records: they have changed, and the old ones must not be used any more. */
  forget(): void {
    this.#records = undefined;
    this.expire();
  }

  #youngerThan(ageMs: number): BucketRecords | undefined {
    const records = this.#records;
    return records !== undefined && records.readAt + ageMs > performance.now() ? records : undefined;
  }

  /** One read at a time serves all who wait for it. */
  #read(): Promise<BucketRecords> {
    if (this.#reading !== undefined) return this.#reading;
    const reading = this.#readOnce().then(
      (records) => {
        this.#awayAt = undefined;
        // A change while the rows were on their way makes them old news.
        if (this.#reading === reading) {
          this.#records = records;
          this.#expired = false;
          this.#reading = undefined;
        }
        return records;
      },
      (error: unknown) => {
        this.#awayAt = isUnavailable(error) ? performance.now() : undefined;
        if (this.#reading === reading) this.#reading = undefined;
        throw error;
      },
    );
    this.#reading = reading;
    return reading;
  }

  async #readOnce(): Promise<BucketRecords> {
    const readAt = performance.now();
    const rows = await this.list();
    // A record that did not change stays the same object, so that what was derived from it is still valid.
    const same = rows.map((row) => {
      const old = this.#lastRead.get(row.name);
      return old !== undefined && Bun.deepEquals(old, row) ? old : row;
    });
    const byName = new Map(same.map((row) => [row.name, row]));
    this.#lastRead = byName;
    return { readAt, byName, root: same.find((row) => row.is_http_root && row.enable) };
  }
}
