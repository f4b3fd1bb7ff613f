/**
 * Mailbox is a bounded queue between a fast writer and a slow reader. When it is full it refuses the newest item; the writer never
 * waits. One reader at a time.
 */
export class Mailbox<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(readonly capacity: number) {}

  /** Adds an item. Returns false if it was dropped, because the mailbox is full or closed. */
  offer(item: T): boolean {
    if (this.#closed || this.#items.length >= this.capacity) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }

  /** Ends the reader at once and drops the items that it has not taken. */
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

/** Dropped takes the place of `count` items of a stream that were dropped because the reader was too slow. */
export class Dropped {
  constructor(readonly count: number) {}
}
