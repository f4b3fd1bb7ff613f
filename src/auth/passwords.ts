import { networkOf } from "../base/address.ts";
import type { Clock } from "../base/clock.ts";
import { FairSemaphore } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import type { Peer } from "./caller.ts";
import { hashSecret } from "./credentials.ts";

/** PasswordCost is what argon2id takes to hash a password: memory in KiB, and passes over it. */
export interface PasswordCost {
  readonly memoryCost: number;
  readonly timeCost: number;
}

const defaultPasswordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 };

export function hashPassword(password: string, cost = defaultPasswordCost): Promise<string> {
  return Bun.password.hash(password, { algorithm: "argon2id", ...cost });
}

/** `noPasswordHash` is of a random password that nobody knows, with the default cost. */
const noPasswordHash =
  "$argon2id$v=19$m=19456,t=2,p=1$oz2UJlLCbtQqmAYzqjJBpmOGrdLwZtF8nIaFKmdwAOk$QG7o7ZuRoKoDz69JoHOHDQBWpakidKS2lOcrYMsDV9E";

/** Verified passwords are remembered for a while: WebDAV clients send theirs with every request. */
const maxRemembered = 1000;
const rememberedMs = 60_000;

/** How many passwords may wait for their check, in all and from one address (of IPv6: one network). */
export const maxWaitingChecks = 64;
export const maxWaitingChecksPerAddress = 16;

/** A user name and the password sent with it. */
interface Login {
  readonly name: string;
  readonly proof: string;
}

/**
 * Passwords checks passwords. A check costs 50 ms of a core on purpose, so few run at once, and those that wait take turns by
 * address: many guesses from one address delay another address by one check.
 */
export class Passwords {
  readonly #clock: Clock;
  readonly #semaphore = new FairSemaphore(2);
  /** Fingerprint of (name, stored hash, password) → until when. A changed password has another hash, so its entry is never found. */
  readonly #verified = new Map<string, number>();

  /** Checks that run or wait, by fingerprint: equal questions share one check. */
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `hash` is null for an unknown name or a token without password; that costs the same and fails. */
  async matches({ name, proof }: Login, hash: string | null, peer: Peer): Promise<boolean> {
    const fingerprint = hashSecret(JSON.stringify([name, hash, proof]));
    if ((this.#verified.get(fingerprint) ?? 0) > this.#clock.now()) return true;
    const running = this.#running.get(fingerprint);
    // A check that ended because its client disconnected says nothing about the password.
    if (running !== undefined) return running.catch(() => this.matches({ name, proof }, hash, peer));
    const check = this.#check(proof, hash, peer).finally(() => this.#running.delete(fingerprint));
    this.#running.set(fingerprint, check);
    const right = await check;
    if (right) this.#remember(fingerprint);
    return right;
  }

  async #check(password: string, hash: string | null, peer: Peer): Promise<boolean> {
    // A stored value that is not an argon2 hash never matches, but takes as long as one that is.
    const usable = hash?.startsWith("$argon2") ? hash : null;
    await this.#acquire(peer);
    try {
      return (await Bun.password.verify(password, usable ?? noPasswordHash)) && usable !== null;
    } finally {
      this.#semaphore.release();
    }
  }

  async #acquire(peer: Peer): Promise<void> {
    const key = networkOf(peer.address);
    const isFull =
      this.#semaphore.waiting(key) >= maxWaitingChecksPerAddress ||
      // An address with fewer waiters takes the place of one with more.
      (this.#semaphore.waiting() >= maxWaitingChecks && !this.#semaphore.evictBeside(key));
    if (isFull) throw busy();
    if (await peer.withoutSlot(() => this.#semaphore.acquire({ key, signal: peer.disconnected }))) return;
    if (!peer.disconnected.aborted) throw busy();
    throw new Fault("Other", "the client left while its password waited to be checked");
  }

  #remember(fingerprint: string): void {
    this.#verified.delete(fingerprint);
    this.#verified.set(fingerprint, this.#clock.now() + rememberedMs);
    const [oldest] = this.#verified.keys();
    if (this.#verified.size > maxRemembered && oldest !== undefined) this.#verified.delete(oldest);
  }
}

function busy(): Fault {
  return new Fault(
    "Busy",
    "too many passwords are waiting to be checked; try again shortly, or use a key and its secret",
    { retry_after_seconds: 1 },
  );
}
