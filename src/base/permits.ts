/**
 * So many may pass at once; the rest wait their turn, lane by lane, so that a crowd in one lane
 * delays the others by one place each and not by its whole length.
 */
export class Permits {
  #free: number;
  readonly #lanes = new Map<string, Array<() => void>>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves to false when no permit came free in time. */
  async take(lane = "", timeoutMs?: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const queue = this.#lanes.get(lane) ?? [];
      this.#lanes.set(lane, queue);
      const enter = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              queue.splice(queue.indexOf(enter), 1);
              if (queue.length === 0) this.#lanes.delete(lane);
              resolve(false);
            }, timeoutMs);
      queue.push(enter);
    });
  }

  give(): void {
    const first = this.#lanes.entries().next().value;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [lane, queue] = first;
    const enter = queue.shift();
    // A lane that was served goes behind the others.
    this.#lanes.delete(lane);
    if (queue.length > 0) this.#lanes.set(lane, queue);
    enter?.();
  }
}
