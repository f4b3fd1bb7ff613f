import { createHash, timingSafeEqual } from "node:crypto";
import { Permits } from "../base/permits.ts";

/** Secrets are random and long, so one fast hash is enough. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export function secretMatches(secret: string, hash: string): boolean {
  const given = Buffer.from(hashSecret(secret));
  const stored = Buffer.from(hash);
  return given.length === stored.length && timingSafeEqual(given, stored);
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

interface Waiting {
  address(): string;
  aside<T>(wait: () => Promise<T>): Promise<T>;
}

/**
 * Checks passwords. A check costs 50 ms of a core on purpose, so few run at once, and those who wait take turns
 * by address: a crowd of guesses from one place delays the others by one check, not by the crowd.
 */
export class Passwords {
  readonly #turns = new Permits(2);
  /** Fingerprint of (stored hash, password) → until when. A changed password changes the hash and so forgets itself. */
  readonly #verified = new Map<string, number>();

  /** `hash` is null for an unknown name or a token without password; that costs the same and fails. */
  async matches(password: string, hash: string | null, guest: Waiting): Promise<boolean> {
    const fingerprint = hash === null ? "" : hashSecret(`${hash}\n${password}`);
    if (hash !== null && (this.#verified.get(fingerprint) ?? 0) > Date.now()) return true;
    // A hash that somebody wrote by hand and that is none matches no password, at the same cost.
    const usable = hash?.startsWith("$argon2") ? hash : null;
    await guest.aside(() => this.#turns.take(guest.address()));
    try {
      const right = (await Bun.password.verify(password, usable ?? noPasswordHash)) && usable !== null;
      if (right) this.#remember(fingerprint);
      return right;
    } finally {
      this.#turns.give();
    }
  }

  #remember(fingerprint: string): void {
    this.#verified.delete(fingerprint);
    this.#verified.set(fingerprint, Date.now() + rememberedMs);
    const [oldest] = this.#verified.keys();
    if (this.#verified.size > remembered && oldest !== undefined) this.#verified.delete(oldest);
  }
}
