import { networkOf } from "../base/address.ts";

/** After this many failures within a minute an address has to wait for its next refusals. */
const free = 20;
const windowMs = 60_000;
const delayMs = 1000;
/** Addresses kept in mind; the one that failed longest ago goes first. */
const addresses = 10_000;

/** Counts refused credentials by address, to slow guessing down. It only ever delays a refusal. */
export class Guesses {
  readonly #failures = new Map<string, number[]>();

  /** Notes a failure; answers how long its refusal should wait. */
  failed(address: string, now = Date.now()): number {
    const place = networkOf(address);
    const recent = (this.#failures.get(place) ?? []).filter((at) => at > now - windowMs);
    const wait = recent.length >= free ? delayMs : 0;
    recent.push(now);
    this.#failures.delete(place);
    this.#failures.set(place, recent.slice(-free));
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > addresses && oldest !== undefined) this.#failures.delete(oldest);
    return wait;
  }
}
