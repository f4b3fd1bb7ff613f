/** RefCounted keeps a value that is replaced as a whole usable until its last user has released it. */
export class RefCounted<T> {
  #users = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(readonly value: T) {}

  retain(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#idle?.resolve();
  }

  /** Resolves to true once nobody uses the value, or to false after `timeoutMs`. */
  async idle(timeoutMs: number): Promise<boolean> {
    if (this.#users === 0) return true;
    this.#idle ??= Promise.withResolvers();
    return Promise.race([this.#idle.promise.then(() => true), Bun.sleep(timeoutMs).then(() => false)]);
  }
}
