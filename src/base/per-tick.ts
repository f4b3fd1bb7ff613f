/**
 * PerTick computes a value at most once in a tick of the event loop. One answer serves all requests of a tick: the event loop reads each
 * connection once a tick, and only those that had bytes when the tick began, so each of these requests was sent before the value was
 * computed, and none by somebody who knew of a later change outside of this process.
 */
export class PerTick<T> {
  readonly #compute: () => T;
  #known: { readonly value: T } | undefined;

  constructor(compute: () => T) {
    this.#compute = compute;
  }

  get(): T {
    if (this.#known !== undefined) return this.#known.value;
    const value = this.#compute();
    this.#known = { value };
    // An immediate runs after the connections of this tick were read, and before those of the next.
    setImmediate(() => this.forget());
    return value;
  }

  /** To be called when this process may have changed the value. */
  forget(): void {
    this.#known = undefined;
  }
}
