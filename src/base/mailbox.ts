/** EventQueue is a stream whose reader can also take what is there already, without waiting. One reader at a time. */
export interface EventQueue<T> extends AsyncIterable<T> {
  /** True once nothing more will come. */
  readonly isClosed: boolean;
  /** Takes the next item; undefined if there is none now. */
  take(): T | undefined;
  /** Resolves when the next item has come, or the queue was closed. */
  arrival(): Promise<void>;
}

export function isEventQueue<T>(stream: AsyncIterable<T>): stream is EventQueue<T> {
  return "take" in stream && "arrival" in stream;
}

/** `itemsOf` yields the items of a queue until it is closed. */
export async function* itemsOf<T>(queue: EventQueue<T>): AsyncGenerator<T, void, undefined> {
  while (!queue.isClosed) {
    const item = queue.take();
    if (item !== undefined) yield item;
    else await queue.arrival();
  }
}

/**
 * Mailbox is a bounded queue between a fast writer and a slow reader. When it is full it refuses the newest item; the writer never
 * waits.
 */
export class Mailbox<T> implements EventQueue<T> {
  readonly #items: T[] = [];
  #closed = false;
  #arrived: PromiseWithResolvers<void> | undefined;

  constructor(readonly capacity: number) {}

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Adds an item. Returns false if it was dropped, because the mailbox is full or closed. */
  offer(item: T): boolean {
    if (this.#closed || this.#items.length >= this.capacity) return false;
    this.#items.push(item);
    this.#wake();
    return true;
  }

  take(): T | undefined {
    return this.#items.shift();
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

  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    return itemsOf(this);
  }

  #wake(): void {
    this.#arrived?.resolve();
    this.#arrived = undefined;
  }
}

/** Dropped takes the place of `count` items of a stream that were dropped because the reader was too slow. */
export class Dropped {
  constructor(readonly count: number) {}
}
