/**
 * ConnectionLimiter bounds how many run at once, by a limit that a reload may change. One above the limit is refused and not
 * queued: the client gets 429 and tries again. Where callers should wait, use `FairSemaphore` of `base/`.
 */
export class ConnectionLimiter {
  readonly #max: () => number;
  #used = 0;

  constructor(max: () => number) {
    this.#max = max;
  }

  /** Undefined at the limit. The permit must be released. */
  tryAcquire(): Permit | undefined {
    if (this.#used >= this.#max()) return undefined;
    this.#used += 1;
    return new Permit((change) => {
      this.#used += change;
    });
  }
}

/** Permit is the right to run, from a `ConnectionLimiter`. */
export class Permit {
  readonly #count: (change: 1 | -1) => void;
  #held = true;

  /** Only a `ConnectionLimiter` makes one, when it has counted it. */
  constructor(count: (change: 1 | -1) => void) {
    this.#count = count;
  }

  /** Further calls do nothing. */
  release(): void {
    if (this.#held) this.#count(-1);
    this.#held = false;
  }

  /** Releases the permit while `wait` runs, and takes it again afterwards, even beyond the limit. */
  async suspend<T>(wait: () => Promise<T>): Promise<T> {
    this.#count(-1);
    try {
      return await wait();
    } finally {
      this.#count(1);
    }
  }
}

/**
 * maxUnsizedBodies is the number of bodies without a Content-Length that are taken from unknown callers at a time. Bun parses all that
 * the kernel holds of a connection before anything else runs: six megabytes in chunks of one byte take 100 ms.
 */
export const maxUnsizedBodies = 2;

/** Delays holds back the responses to wrong credentials, to slow guessing down; a bounded number at a time. */
export class Delays {
  readonly #limiter: ConnectionLimiter;

  constructor(max: number) {
    this.#limiter = new ConnectionLimiter(() => max);
  }

  /** Resolves to true after `ms`; at once to false if too many wait already. */
  async wait(ms: number): Promise<boolean> {
    const permit = this.#limiter.tryAcquire();
    if (permit === undefined) return false;
    await Bun.sleep(ms);
    permit.release();
    return true;
  }
}
