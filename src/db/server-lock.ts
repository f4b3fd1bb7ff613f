import { canonicalPath, lockSqlite } from "./sqlite-lock.ts";

/**
 * ServerLock is a server's exclusive lock on its SQLite file. A reload moves it to another file without a moment in which neither
 * is locked.
 */
export class ServerLock {
  #held: { readonly file: string; readonly unlock: () => void } | undefined;

  /**
   * Locks `file` in addition to the present one (undefined: PostgreSQL, which needs no lock). `commit` releases the present lock,
   * `discard` the new one. Throws DatabaseError if another server has the file.
   */
  async prepare(file: string | undefined): Promise<{ commit(): void; discard(): void }> {
    const real = file === undefined ? undefined : canonicalPath(file);
    if (real !== undefined && real === this.#held?.file) return { commit() {}, discard() {} };
    const next = real === undefined ? undefined : { file: real, unlock: await lockSqlite(real) };
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
