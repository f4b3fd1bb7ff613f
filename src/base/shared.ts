/** A thing in use by many that is replaced as a whole: the old one stays open until its last user is done. */
export class Shared<T> {
  #users = 0;
  #retired: PromiseWithResolvers<void> | undefined;

  constructor(readonly value: T) {}

  enter(): void {
    this.#users += 1;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#retired?.resolve();
  }

  /** Resolves when nobody uses it any more, or when `patienceMs` have passed. */
  async unused(patienceMs: number): Promise<void> {
    if (this.#users === 0) return;
    this.#retired ??= Promise.withResolvers();
    await Promise.race([this.#retired.promise, Bun.sleep(patienceMs)]);
  }
}
