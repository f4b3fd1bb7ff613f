import { hkdfSync, timingSafeEqual } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { TokenRow } from "../db/rows/token-rows.ts";

/** Credentials are what a caller sent, not yet checked. */
export type Credentials =
  | { readonly by: "key"; readonly name: string; readonly proof: string }
  | { readonly by: "username"; readonly name: string; readonly proof: string };

/** Candidates are the credentials that one text may mean, in the order in which they are tried. */
export type Candidates = readonly [Credentials, ...Credentials[]];

export const keyLength = 16;
export const secretLength = 32;

/** `keyPattern` matches every generated key. */
export const keyPattern = new RegExp(`^[A-Za-z0-9]{${keyLength}}$`);

/** `keyAndSecret` matches every generated `<key>:<secret>`. */
export const keyAndSecret = new RegExp(`^([A-Za-z0-9]{${keyLength}}):[A-Za-z0-9]{${secretLength}}$`);

/** `fitsTokenText` returns whether `<username>|<password>` can name this user. */
export function fitsTokenText(username: string): boolean {
  return !username.includes("|");
}

/** Longer texts are rejected unread. */
const maxTokenLength = 4096;

/**
 * `<username>|<password>` when the text holds a `|`, split at the first one; else `<key>:<secret>`, split at the first `:`.
 * So a user name may hold `:`, a password may hold both, and a secret holds neither. A user name that holds `|` cannot be written so: the
 * text means the user before the first `|`, and nobody else. Such a user signs in by Basic, or with key and secret.
 */
export function parseCredentials(text: string): Credentials {
  const bar = text.indexOf("|");
  const at = bar === -1 ? text.indexOf(":") : bar;
  if (at <= 0 || at === text.length - 1 || text.length > maxTokenLength) {
    throw new Fault("ParseError", "the token must read <key>:<secret> or <username>|<password>", {
      field: "token",
    });
  }
  return { by: bar === -1 ? "key" : "username", name: text.slice(0, at), proof: text.slice(at + 1) };
}

/** The key in a text that is exactly a generated key and its secret; undefined for every other text. */
export function keyOfWholeToken(text: string): string | undefined {
  return keyAndSecret.exec(text)?.[1];
}

/**
 * A name from a caller, fit for the log. People paste a whole token where a name is meant, so nothing that follows a
 * separator is shown.
 */
export function loggedName(text: string): string {
  const at = text.search(/[:|]/);
  return at === -1 ? text : `${text.slice(0, at + 1)}…`;
}

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

/** S3Credentials are those of a token for clients of S3. */
export interface S3Credentials {
  readonly access_key_id: string;
  readonly secret_access_key: string;
}

/**
 * S3Secrets derives the secret with which a token signs requests of S3. A signature can only be checked by somebody who has the secret, and
 * the server does not keep those of tokens: so the secret is derived from the stored hash and a key that is not in the database. Neither
 * the database nor the key alone gives it away, and it ends with the token's own secret. The key is derived from that of signed links,
 * which all nodes of a database share.
 */
export class S3Secrets {
  readonly #key: Buffer | { readonly problem: string };

  constructor(linkKey: Buffer | { readonly problem: string }) {
    this.#key =
      linkKey instanceof Buffer
        ? Buffer.from(hkdfSync("sha256", linkKey, "", "node-server S3 secrets", 32))
        : linkKey;
  }

  credentialsOf(token: Pick<TokenRow, "key" | "secretHash">): S3Credentials {
    return { access_key_id: token.key, secret_access_key: this.secretOf(token) };
  }

  /** secretOf returns 40 characters. Throws IoError on a node without the key. */
  secretOf({ key, secretHash }: Pick<TokenRow, "key" | "secretHash">): string {
    if ("problem" in this.#key) throw new Fault("IoError", this.#key.problem, { reason: "no_link_key" });
    const hasher = new Bun.CryptoHasher("sha256", this.#key).update(`${key}\n${secretHash}`);
    return hasher.digest("base64url").slice(0, 40);
  }
}
