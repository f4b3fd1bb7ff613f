/** Queued is long work that is done in small pieces. */
export interface Queued {
  /** Does a small piece. Returns false when nothing is left for now. */
  work(): boolean;
}

/** The number of queued works that do a piece in one turn of the event loop. */
const maxPiecesPerTurn = 8;

/** Turns shares the event loop between clients: long work is done in pieces, and new requests are handled between them. */
export class Turns {
  readonly #waiting = new Set<Queued>();
  /** Callers of `pause`, by lane (such as a connection). Lanes are served round-robin. */
  readonly #paused = new Map<object, Array<() => void>>();
  #number = 0;
  #isArmed = false;

  /** The number of the present turn of the event loop. */
  get current(): number {
    this.#arm();
    return this.#number;
  }

  /** The number of the last turn in which anything was asked of this object; costs less than `current`. */
  get last(): number {
    return this.#number;
  }

  /** True if more works are queued than get a piece in one turn. */
  get isCrowded(): boolean {
    return this.#waiting.size >= maxPiecesPerTurn;
  }

  /** Runs `queued` in the coming turns until it has nothing left. */
  add(queued: Queued): void {
    this.#waiting.add(queued);
    this.#arm();
  }

  /** Resolves when the caller may continue. One caller continues per turn of the event loop, round-robin by lane. */
  pause(lane: object): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#paused.get(lane);
      if (queue === undefined) this.#paused.set(lane, [resolve]);
      else queue.push(resolve);
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isArmed = false;
    this.#number += 1;
    for (const queued of [...this.#waiting].slice(0, maxPiecesPerTurn)) {
      // A work that did a piece goes behind the others.
      this.#waiting.delete(queued);
      if (queued.work()) this.#waiting.add(queued);
    }
    this.#letGo();
    if (this.#waiting.size > 0 || this.#paused.size > 0) this.#arm();
  }

  #letGo(): void {
    const first = this.#paused.entries().next().value;
    if (first === undefined) return;
    const [lane, queue] = first;
    const go = queue.shift();
    this.#paused.delete(lane);
    if (queue.length > 0) this.#paused.set(lane, queue);
    go?.();
  }
}

/** `nextTurn` lets the event loop handle everything that waits before the caller continues. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Time of work after which others get the event loop. */
const maxWorkMs = 0.5;

/** Pacer keeps a long loop from holding the event loop: between two steps it asks `isDue`, and waits for `nextTurn` if so. */
export class Pacer {
  #startedAt = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#startedAt > maxWorkMs;
  }

  async nextTurn(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
