/** Work that waits in pieces. */
export interface Queued {
  /** Does a small piece; false when nothing is left for now. */
  work(): boolean;
}

/** So many of those that wait do a piece in one turn of the event loop. */
const maxPiecesPerTurn = 8;

/** Shares the event loop between clients: long work is done in pieces, by turns, and new requests come in between. */
export class Turns {
  readonly #waiting = new Set<Queued>();
  /** By lane, such as a connection. One of which somebody was let go goes behind the others. */
  readonly #paused = new Map<object, Array<() => void>>();
  #number = 0;
  #isArmed = false;

  /** The number of the present turn of the event loop. */
  get current(): number {
    this.#arm();
    return this.#number;
  }

  /** Whether more wait for a piece than get one in a turn. */
  get isCrowded(): boolean {
    return this.#waiting.size >= maxPiecesPerTurn;
  }

  /** Lets `queued` work in the coming turns, until it has nothing left. */
  add(queued: Queued): void {
    this.#waiting.add(queued);
    this.#arm();
  }

  /** Resolves when it is the caller's turn to go on. In each turn of the event loop one is let go, of all lanes in turn. */
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
      // Whoever had a piece goes behind the others.
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

/** Lets the event loop do everything else that waits, before long work goes on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
