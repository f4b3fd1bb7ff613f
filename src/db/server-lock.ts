import { lockSqlite } from "./sqlite-lock.ts";

/** A server's claim on its SQLite file, which passes from one opening of the file to the next without a gap. */
export class ServerLock {
  #held: { readonly file: string; readonly unlock: () => void } | undefined;

  /** Claims `file` (undefined: a database that needs no claim) beside the present one; `commit` lets that one go. */
  prepare(file: string | undefined): { commit(): void; discard(): void } {
    if (file !== undefined && file === this.#held?.file) return { commit() {}, discard() {} };
    const next = file === undefined ? undefined : { file, unlock: lockSqlite(file) };
    return {
      commit: () => {
        this.close();
        this.#held = next;
      },
      discard: () => next?.unlock(),
    };
  }

  close(): void {
    this.#held?.unlock();
    this.#held = undefined;
  }
}
