import { createPublicKey, verify } from "node:crypto";
import { Fault } from "../base/fault.ts";
import { type MinisignKey, strictBase64 } from "../base/minisign-key.ts";

/** The DER prefix that makes 32 bytes an Ed25519 public key for the crypto library. */
const spki = Buffer.from("302a300506032b6570032100", "hex");

/**
 * `verifyMinisign` checks a minisign signature against the digest of a file, and returns the fields of the trusted comment. Throws
 * if the signature is not valid.
 */
export function verifyMinisign(
  signature: string,
  digest: Buffer,
  keys: readonly MinisignKey[],
): ReadonlyMap<string, string> {
  const [, signed, comment, sealed] = signature.split(/\r?\n/);
  const blob = strictBase64(signed ?? "");
  const trusted = /^trusted comment: (.*)$/.exec(comment ?? "")?.[1];
  const seal = strictBase64(sealed ?? "");
  if (blob.length !== 74 || trusted === undefined || seal.length !== 64) throw bad("cannot be read");
  // `Ed` signs the file itself, which would have to be held in memory; minisign has produced `ED` for years.
  if (blob.subarray(0, 2).toString("latin1") !== "ED")
    throw bad("has the old format; sign with minisign 0.10 or newer");
  const key = keys.find(({ id }) => id === blob.subarray(2, 10).toString("hex"));
  if (key === undefined) throw bad("was made with another key than release_public_key");
  const publicKey = createPublicKey({ key: Buffer.concat([spki, key.key]), format: "der", type: "spki" });
  const mark = blob.subarray(10);
  if (!verify(null, digest, publicKey, mark)) throw bad("does not belong to the file");
  if (!verify(null, Buffer.concat([mark, Buffer.from(trusted)]), publicKey, seal))
    throw bad("has a comment that was changed");
  return new Map(
    trusted.split(/[\t ]+/).flatMap((word) => {
      const colon = word.indexOf(":");
      return colon === -1 ? [] : [[word.slice(0, colon), word.slice(colon + 1)] as const];
    }),
  );
}

function bad(why: string): Fault {
  return new Fault("IoError", `the release's signature ${why}; nothing was changed`);
}
