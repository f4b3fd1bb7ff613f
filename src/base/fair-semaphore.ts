interface Waiter {
  enter(): void;
  giveUp(): void;
}

export interface AcquireOptions {
  /** Waiters with the same key are one queue. */
  readonly key?: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * FairSemaphore is a counting semaphore that is fair between keys: waiters are served round-robin by key, so that one busy key
 * delays the others by one place and not by its whole queue.
 */
export class FairSemaphore {
  #free: number;
  #waiting = 0;
  readonly #queues = new Map<string, Waiter[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** The number of waiters, in all or of one key. */
  waiting(key?: string): number {
    return key === undefined ? this.#waiting : (this.#queues.get(key)?.length ?? 0);
  }

  /** Resolves to true with a permit, which must be released; to false if none came free in time or `signal` ended the wait. */
  async acquire({ key = "", timeoutMs, signal }: AcquireOptions = {}): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (signal?.aborted) return false;
    return new Promise((resolve) => {
      const queue = this.#queues.get(key) ?? [];
      this.#queues.set(key, queue);
      const settle = (acquired: boolean) => {
        this.#waiting -= 1;
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        resolve(acquired);
      };
      const giveUp = () => {
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0) this.#queues.delete(key);
        settle(false);
      };
      const waiter: Waiter = { enter: () => settle(true), giveUp };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      signal?.addEventListener("abort", giveUp);
      queue.push(waiter);
      this.#waiting += 1;
    });
  }

  /** Ends the wait of the last waiter in the longest queue, without a permit. False if no queue is longer than that of `key`. */
  evictBeside(key: string): boolean {
    let largest = this.#queues.get(key) ?? [];
    let found = false;
    for (const queue of this.#queues.values()) {
      if (queue.length <= largest.length) continue;
      largest = queue;
      found = true;
    }
    if (found) largest.at(-1)?.giveUp();
    return found;
  }

  release(): void {
    const first = this.#queues.entries().next().value;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [key, queue] = first;
    const waiter = queue.shift();
    // Round-robin: a key that was served goes behind the others.
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    waiter?.enter();
  }
}
