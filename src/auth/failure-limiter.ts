import { networkOf } from "../base/address.ts";
import type { Clock } from "../base/clock.ts";

/** After this many failures in a minute the further rejections of an address are delayed. */
const maxUndelayedFailures = 20;
const windowMs = 60_000;
const rejectionDelayMs = 1000;
/** While an address is delayed, its rejections are logged at most once in this time. */
const logIntervalMs = 1000;
/** When there are more, the address that failed longest ago is forgotten. */
const maxAddresses = 10_000;

interface Failures {
  /** Times of the latest failures. */
  readonly times: readonly number[];
  /** When one was last logged. */
  readonly loggedAt: number;
  /** How many were not logged since then. */
  readonly unlogged: number;
}

const none: Failures = { times: [], loggedAt: Number.NEGATIVE_INFINITY, unlogged: 0 };

/** FailureReport says how a failure is to be answered and logged. */
interface FailureReport {
  readonly delayMs: number;
  /** How many failures before this one were not logged; undefined if this one is not to be logged either. */
  readonly unlogged: number | undefined;
}

/** FailureLimiter counts rejected credentials by address, to slow guessing down. It delays rejections and nothing else. */
export class FailureLimiter {
  readonly #failures = new Map<string, Failures>();
  readonly #clock: Clock;
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** All failures since the start. */
  get total(): number {
    return this.#total;
  }

  failed(address: string): FailureReport {
    const now = this.#clock.now();
    this.#total += 1;
    const network = networkOf(address);
    const before = this.#failures.get(network) ?? none;
    const recent = before.times.filter((at) => at > now - windowMs);
    const isGuessing = recent.length >= maxUndelayedFailures;
    const isLogged = !isGuessing || now - before.loggedAt >= logIntervalMs;
    const times = [...recent, now].slice(-maxUndelayedFailures);
    this.#failures.delete(network);
    this.#failures.set(
      network,
      isLogged
        ? { times, loggedAt: now, unlogged: 0 }
        : { times, loggedAt: before.loggedAt, unlogged: before.unlogged + 1 },
    );
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxAddresses && oldest !== undefined) this.#failures.delete(oldest);
    return { delayMs: isGuessing ? rejectionDelayMs : 0, unlogged: isLogged ? before.unlogged : undefined };
  }
}

/** FailedPasswords limits guessing in one batch: one wrong password per user name, and few user names. */
export class FailedPasswords {
  static readonly maxNames = 4;
  readonly #hashes = new Map<string, string | null>();

  /**
   * Whether a password of this name is rejected without a check. `hash` is the stored one: a call of the same batch may have
   * changed it.
   */
  has(name: string, hash: string | null): boolean {
    return this.#hashes.get(name) === hash || this.#hashes.size >= FailedPasswords.maxNames;
  }

  add(name: string, hash: string | null): void {
    this.#hashes.set(name, hash);
  }
}
