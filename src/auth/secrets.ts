import { timingSafeEqual } from "node:crypto";

/** `hashSecret` is one fast hash: secrets are random and long. */
export function hashSecret(secret: string): string {
  return Bun.CryptoHasher.hash("sha256", secret, "hex");
}

export function hashesMatch(given: string, stored: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(stored)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** `noSecretHash` is compared with the secret of an unknown key, so that it costs as much as a wrong secret. */
export const noSecretHash = hashSecret("");
