import { networkOf } from "../../base/address.ts";
import type { Clock } from "../../base/clock.ts";

/**
 * ConnectionLimiter bounds how many run at once, by a limit that a reload may change. One above the limit is refused and not
 * queued: the client gets 429 and tries again. Where callers should wait, use `FairSemaphore` of `base/`.
 */
export class ConnectionLimiter {
  readonly #max: () => number;
  #used = 0;
  readonly #count = (change: 1 | -1): void => {
    this.#used += change;
  };

  constructor(max: () => number) {
    this.#max = max;
  }

  /** The permits that are held. */
  get used(): number {
    return this.#used;
  }

  /** Undefined at the limit. The permit must be released. */
  tryAcquire(): Permit | undefined {
    if (this.#used >= this.#max()) return undefined;
    this.#used += 1;
    return new Permit(this.#count);
  }
}

/** Permit is the right to run, from a `ConnectionLimiter` or from `UnsizedBodies`. */
export class Permit {
  readonly #count: (change: 1 | -1) => void;
  #held = true;

  /** Made by whoever has counted it. */
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

/** Bodies without a Content-Length that are taken at a time from all addresses together. */
const maxUnsizedBodies = 16;

/**
 * UnsizedBodies bounds the bodies without a Content-Length that are taken from unknown callers. Bun parses all that the kernel holds
 * of a connection before anything else runs: six megabytes in chunks of one byte take 100 ms, 30 while nobody reads them. Each
 * address (of IPv6: each network) has a bound of its own, so that one which never ends its bodies keeps nobody else out.
 */
export class UnsizedBodies {
  readonly #maxPerAddress: number;
  readonly #byNetwork = new Map<string, number>();
  #total = 0;

  constructor(maxPerAddress: number) {
    this.#maxPerAddress = maxPerAddress;
  }

  /** Undefined at a bound. The permit must be released. */
  tryAcquire(address: string): Permit | undefined {
    const network = networkOf(address);
    const held = this.#byNetwork.get(network) ?? 0;
    if (held >= this.#maxPerAddress || this.#total >= maxUnsizedBodies) return undefined;
    this.#count(network, 1);
    return new Permit((change) => this.#count(network, change));
  }

  #count(network: string, change: 1 | -1): void {
    this.#total += change;
    const held = (this.#byNetwork.get(network) ?? 0) + change;
    if (held > 0) this.#byNetwork.set(network, held);
    else this.#byNetwork.delete(network);
  }
}

/** Delays holds back the responses to wrong credentials, to slow guessing down; a bounded number at a time. */
export class Delays {
  readonly #limiter: ConnectionLimiter;
  readonly #clock: Clock;

  constructor(max: number, clock: Clock) {
    this.#clock = clock;
    this.#limiter = new ConnectionLimiter(() => max);
  }

  /** Resolves to true after `ms`; at once to false if too many wait already. */
  async wait(ms: number): Promise<boolean> {
    const permit = this.#limiter.tryAcquire();
    if (permit === undefined) return false;
    await this.#clock.sleep(ms);
    permit.release();
    return true;
  }
}
