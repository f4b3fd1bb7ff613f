import { createPublicKey, verify } from "node:crypto";
import { Fault } from "./fault.ts";

/** MinisignKey is a minisign public key with its id. */
interface MinisignKey {
  readonly id: string;
  readonly key: Buffer;
}

/** `parsePublicKeys` reads one or more keys as minisign prints them, and skips comment lines. */
export function parsePublicKeys(text: string): MinisignKey[] {
  const keys = text
    .split(/\r?\n/)
    .filter((line) => !/^untrusted comment:/i.test(line))
    .flatMap((line) => line.split(/[\s,]+/))
    .filter((word) => word !== "")
    .map(parsePublicKey);
  if (keys.length === 0) throw badKey();
  return keys;
}

function parsePublicKey(text: string): MinisignKey {
  const bytes = strictBase64(text);
  if (bytes.length !== 42 || bytes.subarray(0, 2).toString("latin1") !== "Ed") throw badKey();
  return { id: bytes.subarray(2, 10).toString("hex"), key: bytes.subarray(10) };
}

/**
 * `strictBase64` decodes canonical Base64; empty for anything else. (The runtime's decoder skips characters that are not Base64.)
 */
function strictBase64(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : Buffer.alloc(0);
}

function badKey(): Fault {
  return new Fault(
    "InvalidInput",
    "must be a minisign public key: RW and 54 more characters, the second line of the .pub file",
    { field: "release_public_key" },
  );
}

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
