import { hkdfSync } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { TokenRow } from "../db/rows/token-rows.ts";

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
