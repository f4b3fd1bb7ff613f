import { statSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { codeOf } from "../../base/fault.ts";
import { Watch } from "../../base/task.ts";
import { PerTick } from "../../base/turns.ts";
import type { Logger } from "../../log/hub.ts";
import { unavailable } from "../unavailable.ts";

/** The interval of the comparison; there is one before every write, too. */
const intervalMs = 1000;

const restartHint =
  "put the same file back, or stop the server, restore a backup at this path without -wal and -shm files, and start it";

/**
 * SqliteFileWatch checks that the open SQLite file is still the one at its path. SQLite itself continues in a deleted or replaced
 * file without an error, and everything written there is lost with the last process that has it open. So while the path leads to
 * another file or to none, every statement fails; once the same file is back, they work again.
 */
export class SqliteFileWatch {
  readonly #path: string;
  readonly #identity: string | undefined;
  readonly #watch: Watch<string>;
  readonly #comparison = new PerTick(() => this.#compare());

  /** Starts the watch. The file must exist and be open. */
  constructor(path: string, log: Logger, clock: Clock) {
    this.#path = path;
    this.#identity = identityOf(path);
    this.#watch = new Watch({
      clock,
      everyMs: intervalMs,
      check: () => this.#compare(),
      lost: (reason) =>
        log.event(
          "database.lost",
          "the database file is missing or was replaced; calls that need it fail until it is back",
          { database: path, reason },
        ),
      restored: (lost_ms) =>
        log.event("database.restored", "the database file is back", { database: path, lost_ms }),
    });
  }

  /** True if the last comparison found another file or none. */
  get isMissing(): boolean {
    return this.#watch.isLost;
  }

  get losses(): number {
    return this.#watch.losses;
  }

  /** Throws if the last comparison found another file or none. Makes no system call, because it runs before every read. */
  assertPresent(): void {
    if (this.#watch.isLost)
      throw unavailable(
        undefined,
        "the database file was moved, deleted or replaced while the server runs; its operator has to put it back",
      );
  }

  /** Compares now, and throws as `assertPresent` does. */
  checkPresent(): void {
    this.#compare();
    this.assertPresent();
  }

  /** Compares once in a tick of the event loop: for what another process runs, which is always a moment later. */
  assertPresentInTick(): void {
    this.#comparison.get();
    this.assertPresent();
  }

  close(): void {
    this.#watch.close();
  }

  #compare(): void {
    let reason: string | undefined;
    try {
      const identity = identityOf(this.#path);
      if (identity === undefined) reason = `the file was deleted or moved away; ${restartHint}`;
      else if (identity !== this.#identity) reason = `another file has taken its place; ${restartHint}`;
    } catch (error) {
      reason = `the file cannot be checked (${codeOf(error)}); ${restartHint}`;
    }
    this.#watch.conclude(reason);
  }
}

/** `identityOf` is device and inode of the file at a path; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
