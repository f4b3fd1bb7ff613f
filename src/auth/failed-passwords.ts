/** FailedPasswords limits guessing in one batch: one wrong password per user name, and few user names. */
export class FailedPasswords {
  static readonly maxNames = 4;
  readonly #hashes = new Map<string, string | null>();

  /**
   * Whether a password of this name is rejected without a check. `hash` is the stored one: a call of the same batch may have
   * changed it.
   */
  has(name: string, hash: string | null): boolean {
    return this.#hashes.get(name) === hash || this.#hashes.size >= FailedPasswords.maxNames;
  }

  add(name: string, hash: string | null): void {
    this.#hashes.set(name, hash);
  }
}
