import { networkOf } from "../base/address.ts";

/** After this many failures within a minute an address has to wait for its next refusals. */
const free = 20;
const windowMs = 60_000;
const delayMs = 1000;
/** While an address waits for its refusals, one line of the log in this time tells of them. */
const quietMs = 1000;
/** Addresses kept in mind; the one that failed longest ago goes first. */
const addresses = 10_000;

interface Failures {
  /** When the latest ones were. */
  readonly times: readonly number[];
  /** When one was last worth a line in the log. */
  readonly loggedAt: number;
  /** How many were not since then. */
  readonly unlogged: number;
}

const none: Failures = { times: [], loggedAt: Number.NEGATIVE_INFINITY, unlogged: 0 };

/** Refused is how a refusal is to be told. */
export interface Refused {
  /** To the client: how long its refusal should wait. */
  readonly delayMs: number;
  /** To the log: how many refusals before this one were not told; undefined when this one is not told either. */
  readonly untold: number | undefined;
}

/** Counts refused credentials by address, to slow guessing down. It only ever delays a refusal. */
export class Guesses {
  readonly #failures = new Map<string, Failures>();

  /** Notes a failure. */
  failed(address: string, now = Date.now()): Refused {
    const place = networkOf(address);
    const before = this.#failures.get(place) ?? none;
    const recent = before.times.filter((at) => at > now - windowMs);
    const isGuessing = recent.length >= free;
    const isTold = !isGuessing || now - before.loggedAt >= quietMs;
    const times = [...recent, now].slice(-free);
    this.#failures.delete(place);
    this.#failures.set(
      place,
      isTold
        ? { times, loggedAt: now, unlogged: 0 }
        : { times, loggedAt: before.loggedAt, unlogged: before.unlogged + 1 },
    );
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > addresses && oldest !== undefined) this.#failures.delete(oldest);
    return { delayMs: isGuessing ? delayMs : 0, untold: isTold ? before.unlogged : undefined };
  }
}
