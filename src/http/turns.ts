/** Work that waits in pieces. */
export interface Queued {
  /** Does a small piece; false when nothing is left for now. */
  work(): boolean;
}

/** So long the queued work of all connections runs before new requests are looked at. */
const maxTurnMs = 5;

/** Shares the event loop between connections: each gets a piece of its queued work in turn, and new requests come in between. */
export class Turns {
  readonly #waiting = new Set<Queued>();
  #number = 0;
  #isArmed = false;

  /** The number of the present turn of the event loop. */
  get current(): number {
    this.#arm();
    return this.#number;
  }

  /** Lets `queued` work in the coming turns, until it has nothing left. */
  add(queued: Queued): void {
    this.#waiting.add(queued);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isArmed = false;
    this.#number += 1;
    const end = performance.now() + maxTurnMs;
    for (const queued of [...this.#waiting]) {
      // Whoever had a piece goes behind the others.
      this.#waiting.delete(queued);
      if (queued.work()) this.#waiting.add(queued);
      if (performance.now() >= end) break;
    }
    if (this.#waiting.size > 0) this.#arm();
  }
}
