import { atMost, type Clock } from "./clock.ts";

/** RefCounted counts the users of a value that a reload replaces as a whole, so that it is closed only after its last user. */
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

  /** Resolves to true once the value has no users, or to false after `ms`. */
  async idle(ms: number, clock: Clock): Promise<boolean> {
    if (this.#users === 0) return true;
    this.#idle ??= Promise.withResolvers();
    const idle = this.#idle.promise.then(() => true);
    return atMost(idle, { ms, clock, late: false });
  }
}
