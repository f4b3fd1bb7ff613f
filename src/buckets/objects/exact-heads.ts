import type { Database } from "../../db/database.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Head, Heads } from "./heads.ts";

/** ExactHeads are for a database that can be read without waiting: every question looks whether it has changed. */
export class ExactHeads implements Heads {
  readonly #database: Pick<Database, "heads" | "dataVersion" | "clock">;
  readonly #staleMs: number;
  readonly #known = new Map<string, number>();
  /** The version of the database that all known versions are of. */
  #dataVersion: number | undefined;
  /** When the database last told its version, by a clock that nobody sets. */
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(database: Pick<Database, "heads" | "dataVersion" | "clock">, staleMs: number) {
    this.#database = database;
    this.#staleMs = staleMs;
  }

  isCurrent(bucketPath: string, { version }: Head): boolean {
    const dataVersion = this.readNow(() => this.#database.dataVersion);
    if (dataVersion !== undefined) return this.#versionIn(bucketPath, dataVersion) === version;
    return (
      this.#known.get(bucketPath) === version &&
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

  /** The database tells more than these could. */
  saw(): void {}
  looked(): void {}
  databaseIsAway(): void {}

  #versionIn(bucketPath: string, dataVersion: number): number | undefined {
    if (dataVersion !== this.#dataVersion) {
      this.#known.clear();
      this.#dataVersion = dataVersion;
    }
    this.#readAt = this.#database.clock.monotonic();
    const known =
      this.#known.get(bucketPath) ?? this.readNow(() => this.#database.heads.versionNow(bucketPath));
    if (known !== undefined) this.#known.set(bucketPath, known);
    return known;
  }
}
