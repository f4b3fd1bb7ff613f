import { createPublicKey, verify } from "node:crypto";
import { Fault } from "../base/fault.ts";

/** A minisign public key: which it is, and what it verifies with. */
export interface MinisignKey {
  readonly id: string;
  readonly key: Buffer;
}

/** What makes an Ed25519 key of 32 bytes one that the crypto library reads. */
const spki = Buffer.from("302a300506032b6570032100", "hex");

/** One key or several, as minisign prints them; lines of comment are passed over. */
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
  const bytes = strict(text);
  if (bytes.length !== 42 || bytes.subarray(0, 2).toString("latin1") !== "Ed") throw badKey();
  return { id: bytes.subarray(2, 10).toString("hex"), key: bytes.subarray(10) };
}

/** Only the one spelling of the bytes; the runtime's reader overlooks what is no Base64. Empty for anything else. */
function strict(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : Buffer.alloc(0);
}

function badKey(): Fault {
  return new Fault(
    "InvalidInput",
    "release_public_key is no minisign public key (RW… and 54 more characters)",
    {
      field: "release_public_key",
    },
  );
}

/** Holds a minisign signature against the digest of a file; answers what the trusted comment says. Throws when it is not valid. */
export function verifyMinisign(
  signature: string,
  digest: Buffer,
  keys: readonly MinisignKey[],
): ReadonlyMap<string, string> {
  const [, signed, comment, sealed] = signature.split(/\r?\n/);
  const blob = strict(signed ?? "");
  const trusted = /^trusted comment: (.*)$/.exec(comment ?? "")?.[1];
  const seal = strict(sealed ?? "");
  if (blob.length !== 74 || trusted === undefined || seal.length !== 64) throw bad("cannot be read");
  // `Ed` signs the file itself and would have to be held in memory; minisign has made `ED` for years.
  if (blob.subarray(0, 2).toString("latin1") !== "ED")
    throw bad("is of the old kind; sign with minisign 0.10 or newer");
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
