import { timingSafeEqual } from "node:crypto";

/** `hashSecret` is one fast hash: secrets are random and long. */
export function hashSecret(secret: string): string {
  return Bun.CryptoHasher.hash("sha256", secret, "hex");
}

const hashChars = 64;
/** Reused: two new buffers for each call cost four times as much as the comparison. */
const one = Buffer.alloc(hashChars);
const other = Buffer.alloc(hashChars);

/** `hashesMatch` compares two hashes in a time that does not depend on where they differ. */
export function hashesMatch(given: string, stored: string): boolean {
  if (given.length !== hashChars || stored.length !== hashChars) return false;
  one.write(given, "latin1");
  other.write(stored, "latin1");
  return timingSafeEqual(one, other);
}

/** `noSecretHash` is compared with the secret of an unknown key, so that it costs as much as a wrong secret. */
export const noSecretHash = hashSecret("");
