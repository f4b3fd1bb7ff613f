import { open } from "node:fs/promises";
import { codeOf, messageOf } from "../base/fault.ts";
import { SharedSync } from "../base/local-fs/sync.ts";
import { unavailable } from "./unavailable.ts";

/**
 * SqliteWal writes the -wal file of a database to the disk. SQLite does so itself with `synchronous = FULL`, within COMMIT and
 * therefore on the thread of the event loop; here a thread of the pool does it, once for all commits that wait for it. Frames
 * that are not in the -wal file any more were moved into the database by a checkpoint, which syncs both files with `synchronous =
 * NORMAL`. SQLite holds no lock on the -wal file, so closing a descriptor of it releases none.
 */
export class SqliteWal {
  readonly #path: string;
  readonly #syncs = new SharedSync();

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** sync resolves when every transaction that was committed before this call survives a power cut. */
  sync(): Promise<void> {
    return this.#syncs.run(this.#path, () => this.#sync());
  }

  async #sync(): Promise<void> {
    try {
      await using file = await open(this.#path, "r");
      await file.datasync();
    } catch (error) {
      // The last connection of all processes removes it, after a checkpoint.
      if (codeOf(error) !== "ENOENT") throw notSynced(error);
    }
  }
}

function notSynced(error: unknown): unknown {
  return unavailable(
    error,
    `the change is stored, but the disk of the database could not confirm it (${codeOf(error) ?? messageOf(error)}); check that disk`,
  );
}
