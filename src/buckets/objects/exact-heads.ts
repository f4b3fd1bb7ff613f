import type { Database } from "../../db/database.ts";
import type { HeadValue } from "../../db/rows/entry-values.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Head, Heads } from "./heads.ts";
import { KnownRows, type LastHead } from "./known-rows.ts";

/** ExactHeads are for a database that can be read without waiting: every question looks whether it has changed. */
export class ExactHeads implements Heads {
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
    return this.readNow(() => this.#database.dataVersion) === undefined;
  }

  /** The root is that of the tree that was read last: another process may have published another one that nobody has seen here. */
  last(bucketPath: string): LastHead {
    return { version: this.#versions.get(bucketPath), root: undefined, readAt: this.#readAt };
  }

  isCurrent(bucketPath: string, { version }: Head): boolean {
    const dataVersion = this.readNow(() => this.#database.dataVersion);
    if (dataVersion !== undefined) return this.#versionIn(bucketPath, dataVersion) === version;
    return (
      this.#versions.get(bucketPath) === version &&
      this.#database.clock.monotonic() < this.#readAt + this.#staleMs
    );
  }

  readNow<T>(read: () => T): T | undefined {
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
  looked(): void {}
  databaseIsAway(): void {}

  #versionIn(bucketPath: string, dataVersion: number): number | undefined {
    if (dataVersion !== this.#dataVersion) {
      this.#versions.clear();
      this.#dataVersion = dataVersion;
    }
    this.#readAt = this.#database.clock.monotonic();
    const known =
      this.#versions.get(bucketPath) ?? this.readNow(() => this.#database.heads.versionNow(bucketPath));
    if (known !== undefined) this.#versions.set(bucketPath, known);
    return known;
  }
}
