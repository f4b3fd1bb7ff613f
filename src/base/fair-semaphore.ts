interface Waiter {
  enter(): void;
  giveUp(): void;
}

/** AcquireOptions say in which queue a caller waits, and for how long. */
export interface AcquireOptions {
  /** Waiters with the same key are one queue. */
  readonly key?: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * FairSemaphore is a counting semaphore that is fair between keys: waiters are served round-robin by key, so that one busy key
 * delays the others by one place and not by its whole queue. It is for work that should wait; `ConnectionLimiter` of the HTTP
 * module is another concept: it refuses instead of queueing, its limit changes with the configuration, and its permits can be
 * suspended.
 */
export class FairSemaphore {
  #free: number;
  #waiting = 0;
  readonly #queues = new Map<string, Waiter[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** The number of waiters, of all keys or of one. */
  waiting(key?: string): number {
    return key === undefined ? this.#waiting : (this.#queues.get(key)?.length ?? 0);
  }

  /** Resolves to true with a permit, which the caller must release, or to false if `timeoutMs` passed or `signal` fired first. */
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

  /**
   * Ends the wait of the last waiter in the longest queue, without a permit. Returns false if no queue is longer than that of
   * `key`.
   */
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
