/** So many at once, and the next one is turned away rather than kept waiting. */
export class Slots {
  #used = 0;

  constructor(private readonly limit: () => number) {}

  take(): boolean {
    if (this.#used >= this.limit()) return false;
    this.#used += 1;
    return true;
  }

  /** Comes back to a place that was left for a while, even when others have come since. */
  takeBack(): void {
    this.#used += 1;
  }

  give(): void {
    this.#used -= 1;
  }
}

/** One place that was taken, given back once. */
export class Slot {
  #held = true;

  constructor(private readonly slots: Slots) {}

  give(): void {
    if (this.#held) this.slots.give();
    this.#held = false;
  }

  /** Leaves the place to others while waiting. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.slots.give();
    try {
      return await wait();
    } finally {
      this.slots.takeBack();
    }
  }
}

/** Keeps refusals back, to slow guessing down; so many at a time. */
export class Delays {
  readonly #slots: Slots;

  constructor(max: number) {
    this.#slots = new Slots(() => max);
  }

  /** Resolves after `ms`; at once and to false when too many wait already. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#slots.take()) return false;
    await Bun.sleep(ms);
    this.#slots.give();
    return true;
  }
}
