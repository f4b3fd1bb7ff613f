/**
 * A queue with a size between a fast writer and a slow reader. When it is full it refuses the newest
 * item and says so; the writer never waits. One reader at a time.
 */
export class Mailbox<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(readonly capacity: number) {}

  /** False when the item was refused: the mailbox is full or closed. */
  offer(item: T): boolean {
    if (this.#closed || this.#items.length >= this.capacity) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }

  /** Ends the reader at once; what it has not taken is dropped. */
  close(): void {
    this.#closed = true;
    this.#items.length = 0;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    while (!this.#closed) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else await this.#arrival();
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

/** Dropped stands in a stream where this many items were dropped, because the reader was too slow. */
export class Dropped {
  constructor(readonly count: number) {}
}
