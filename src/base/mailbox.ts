/** EventQueue is a stream whose reader can also take what is there already, without waiting. One reader at a time. */
export interface EventQueue<T> extends AsyncIterable<T> {
  /** True once nothing more will come. */
  readonly isClosed: boolean;
  /** Takes the next item; undefined if there is none now. */
  take(): T | undefined;
  /**
   * Resolves when items can be taken, or the queue was closed. Those that come within one tick of the event loop are taken
   * together.
   */
  arrival(): Promise<void>;
}

export function isEventQueue<T>(stream: AsyncIterable<T>): stream is EventQueue<T> {
  return "take" in stream && "arrival" in stream;
}

/**
 * Mailbox is a bounded queue between a fast writer and a slow reader. When it is full it refuses the newest item; the writer
 * never waits.
 */
export class Mailbox<T> implements EventQueue<T> {
  readonly #items: T[] = [];
  #closed = false;
  #arrived: PromiseWithResolvers<void> | undefined;
  #isWaking = false;

  readonly #onEmptied: (() => void) | undefined;

  /** `onEmptied` is called when the reader has taken the last item; it may offer more. */
  constructor(
    readonly capacity: number,
    onEmptied?: () => void,
  ) {
    this.#onEmptied = onEmptied;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isFull(): boolean {
    return this.#items.length >= this.capacity;
  }

  /**
   * Adds items that belong together, where one more has room. Returns false if they were dropped: the mailbox is full or closed.
   */
  offer(...items: T[]): boolean {
    if (this.#closed || this.isFull) return false;
    this.#items.push(...items);
    this.#wakeSoon();
    return true;
  }

  take(): T | undefined {
    const item = this.#items.shift();
    if (item !== undefined && this.#items.length === 0) this.#onEmptied?.();
    return item;
  }

  arrival(): Promise<void> {
    if (this.#items.length > 0 || this.#closed) return Promise.resolve();
    this.#arrived ??= Promise.withResolvers();
    return this.#arrived.promise;
  }

  /** Ends the reader at once and drops the items that it has not taken. */
  close(): void {
    this.#closed = true;
    this.#items.length = 0;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    while (!this.#closed) {
      const item = this.take();
      if (item !== undefined) yield item;
      else await this.arrival();
    }
  }

  /** At the end of the tick, so that the reader takes many at once; sooner if the mailbox fills up. */
  #wakeSoon(): void {
    if (this.#arrived === undefined) return;
    if (this.#items.length >= this.capacity / 2) this.#wake();
    else if (!this.#isWaking) {
      this.#isWaking = true;
      setImmediate(() => {
        this.#isWaking = false;
        if (this.#items.length > 0) this.#wake();
      });
    }
  }

  #wake(): void {
    this.#arrived?.resolve();
    this.#arrived = undefined;
  }
}

/** DropNotice takes the place of `count` items of a stream that were dropped because the reader was too slow. */
export class DropNotice {
  constructor(readonly count: number) {}
}
