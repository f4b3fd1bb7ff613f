import { createHash, timingSafeEqual } from "node:crypto";
import { networkOf } from "../base/address.ts";
import { FairSemaphore } from "../base/fair-semaphore.ts";
import { Fault } from "../base/fault.ts";

/** Secrets are random and long, so one fast hash is enough. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export function hashesMatch(given: string, stored: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(stored)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** The hash of no secret: what an unknown key is compared with, so that it costs as much as a wrong secret. */
export const noSecretHash = hashSecret("");

const argon2 = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

export function hashPassword(password: string): Promise<string> {
  return Bun.password.hash(password, argon2);
}

/** The hash of a random password that nobody knows, with the parameters above. */
const noPasswordHash =
  "$argon2id$v=19$m=19456,t=2,p=1$oz2UJlLCbtQqmAYzqjJBpmOGrdLwZtF8nIaFKmdwAOk$QG7o7ZuRoKoDz69JoHOHDQBWpakidKS2lOcrYMsDV9E";

/** So many verified passwords are remembered, each for so long: WebDAV sends the password with every request. */
const remembered = 1000;
const rememberedMs = 60_000;

/** So many passwords may wait for their check, in all and from one address (of IPv6: one network). */
export const maxWaitingChecks = 64;
export const maxWaitingChecksPerAddress = 16;

/** A user name and the password it came with. */
interface Claim {
  readonly name: string;
  readonly proof: string;
}

/** The client whose password waits. */
export interface Waiting {
  readonly address: string;
  /** Fires when the client is gone: nobody waits for the check any more. */
  readonly left: AbortSignal;
  /** Waits for something without taking up room that others need. */
  aside<T>(wait: () => Promise<T>): Promise<T>;
}

/**
 * Checks passwords. A check costs 50 ms of a core on purpose, so few run at once, and those who wait take turns
 * by address: a crowd of guesses from one place delays the others by one check, and its own place by no more than may wait there.
 */
export class Passwords {
  readonly #semaphore = new FairSemaphore(2);
  /** Fingerprint of (stored hash, password) → until when. A changed password changes the hash and so forgets itself. */
  readonly #verified = new Map<string, number>();

  /** Checks that run or wait, by name, stored hash and password: who asks the same meanwhile hears the same answer. */
  readonly #running = new Map<string, Promise<boolean>>();

  /** `hash` is null for an unknown name or a token without password; that costs the same and fails. */
  async matches({ name, proof }: Claim, hash: string | null, guest: Waiting): Promise<boolean> {
    const fingerprint = hashSecret(JSON.stringify([name, hash, proof]));
    if ((this.#verified.get(fingerprint) ?? 0) > Date.now()) return true;
    const running = this.#running.get(fingerprint);
    // One that was given up because its client left says nothing about the password.
    if (running !== undefined) return running.catch(() => this.matches({ name, proof }, hash, guest));
    const check = this.#check(proof, hash, guest).finally(() => this.#running.delete(fingerprint));
    this.#running.set(fingerprint, check);
    const right = await check;
    if (right) this.#remember(fingerprint);
    return right;
  }

  async #check(password: string, hash: string | null, guest: Waiting): Promise<boolean> {
    // A hash that somebody wrote by hand and that is none matches no password, at the same cost.
    const usable = hash?.startsWith("$argon2") ? hash : null;
    await this.#takeTurn(guest);
    try {
      return (await Bun.password.verify(password, usable ?? noPasswordHash)) && usable !== null;
    } finally {
      this.#semaphore.release();
    }
  }

  async #takeTurn(guest: Waiting): Promise<void> {
    const lane = networkOf(guest.address);
    const isFull =
      this.#semaphore.waiting(lane) >= maxWaitingChecksPerAddress ||
      // A crowd of addresses makes room for one that has fewer waiting.
      (this.#semaphore.waiting() >= maxWaitingChecks && !this.#semaphore.evictBeside(lane));
    if (isFull) throw busy();
    if (await guest.aside(() => this.#semaphore.acquire({ key: lane, signal: guest.left }))) return;
    if (!guest.left.aborted) throw busy();
    throw new Fault("Other", "the client left while its password waited to be checked");
  }

  #remember(fingerprint: string): void {
    this.#verified.delete(fingerprint);
    this.#verified.set(fingerprint, Date.now() + rememberedMs);
    const [oldest] = this.#verified.keys();
    if (this.#verified.size > remembered && oldest !== undefined) this.#verified.delete(oldest);
  }
}

function busy(): Fault {
  return new Fault(
    "Busy",
    "too many passwords wait to be checked; try again shortly, or use a key and its secret",
    { retry_after_seconds: 1 },
  );
}

/** The passwords that failed in one batch: each user name has one try, and a batch gets through few names. */
export class FailedPasswords {
  static readonly maxNames = 4;
  readonly #hashes = new Map<string, string | null>();

  /** Whether a password of this name is refused unchecked; `hash` is the stored one, which a call of the same batch may have changed. */
  has(name: string, hash: string | null): boolean {
    return this.#hashes.get(name) === hash || this.#hashes.size >= FailedPasswords.maxNames;
  }

  add(name: string, hash: string | null): void {
    this.#hashes.set(name, hash);
  }
}
