import { createHmac, hkdfSync } from "node:crypto";
import type { LinkToken } from "../db/link-rows.ts";
import { headOf, type LinkFields } from "./link-code.ts";

/** SignedTarget is the one thing that a link opens. */
export interface SignedTarget {
  readonly bucket: { readonly id: number; readonly name: string };
  /** Of the file or folder in the bucket; of a preview the deploy's id. */
  readonly path: string;
}

/** MacInput is all that the MAC of a link depends on. */
export interface MacInput extends SignedTarget {
  readonly fields: LinkFields;
  /** The part of the key that the database keeps, in base64. */
  readonly secret: string;
  /** The part that is outside of it. */
  readonly key: Buffer;
  readonly token: Pick<LinkToken, "secretHash" | "passwordHash">;
  readonly generation: number;
}

/**
 * `macOf` returns the MAC of a link. Its key is derived from both parts of the server's secret and the hashes of the token's secret and
 * password, so it differs as soon as one of them does; none of them can be told from a link.
 */
export function macOf({ fields, secret, key: outside, token, generation, bucket, path }: MacInput): Buffer {
  const salt = JSON.stringify([token.secretHash, token.passwordHash]);
  const key = Buffer.from(
    hkdfSync(
      "sha256",
      Buffer.concat([Buffer.from(secret, "base64"), outside]),
      salt,
      "node-server links 2",
      32,
    ),
  );
  return createHmac("sha256", key)
    .update(headOf(fields))
    .update(JSON.stringify([bucket.id, bucket.name, generation, path]))
    .digest();
}

/** fingerprintOf names the part of the key that is outside of the database, there. It says nothing about the key. */
export function fingerprintOf(key: Buffer): string {
  return Buffer.from(hkdfSync("sha256", key, "", "node-server link key", 12)).toString("base64url");
}
