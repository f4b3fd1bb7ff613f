interface Waiter {
  enter(): void;
  giveUp(): void;
}

/**
 * So many may pass at once; the rest wait their turn, lane by lane, so that a crowd in one lane
 * delays the others by one place each and not by its whole length.
 */
export class Permits {
  #free: number;
  #waiting = 0;
  readonly #lanes = new Map<string, Waiter[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** How many wait, in all or in one lane. */
  waiting(lane?: string): number {
    return lane === undefined ? this.#waiting : (this.#lanes.get(lane)?.length ?? 0);
  }

  /** Resolves to false when no permit came free in time, or when `signal` ended the wait. */
  async take(lane = "", timeoutMs?: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (signal?.aborted) return false;
    return new Promise((resolve) => {
      const queue = this.#lanes.get(lane) ?? [];
      this.#lanes.set(lane, queue);
      const settle = (taken: boolean) => {
        this.#waiting -= 1;
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        resolve(taken);
      };
      const giveUp = () => {
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0) this.#lanes.delete(lane);
        settle(false);
      };
      const waiter: Waiter = { enter: () => settle(true), giveUp };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      signal?.addEventListener("abort", giveUp);
      queue.push(waiter);
      this.#waiting += 1;
    });
  }

  /** Ends the wait of the last one in the longest lane, which gets no permit; false when none is longer than `lane`. */
  evictBeside(lane: string): boolean {
    let longest = this.#lanes.get(lane) ?? [];
    let found = false;
    for (const queue of this.#lanes.values()) {
      if (queue.length <= longest.length) continue;
      longest = queue;
      found = true;
    }
    if (found) longest.at(-1)?.giveUp();
    return found;
  }

  give(): void {
    const first = this.#lanes.entries().next().value;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [lane, queue] = first;
    const waiter = queue.shift();
    // A lane that was served goes behind the others.
    this.#lanes.delete(lane);
    if (queue.length > 0) this.#lanes.set(lane, queue);
    waiter?.enter();
  }
}
