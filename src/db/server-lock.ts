import { canonicalPath, lockSqlite } from "./sqlite-lock.ts";

/** A server's claim on its SQLite file, which passes from one opening of the file to the next without a gap. */
export class ServerLock {
  #held: { readonly file: string; readonly unlock: () => void } | undefined;

  /** Claims `file` (undefined: a database that needs no claim) beside the present one; `commit` lets that one go. */
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
