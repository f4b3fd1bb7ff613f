import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from "node:crypto";
import { readFileSync } from "node:fs";

/** What stands before the bytes of an Ed25519 private key for the crypto library to read it. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** A minisign secret key without password, as `minisign -G -W` makes one. */
export interface SecretKey {
  readonly id: Buffer;
  readonly seed: Buffer;
}

/** A new pair, in minisign's own form: the two files' texts. */
export function newKeyPair(): { readonly secret: string; readonly public: string } {
  const id = randomBytes(8);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32);
  const pub = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const both = Buffer.concat([seed, pub]);
  const checksum = createHash("blake2b512")
    .update(Buffer.concat([Buffer.from("Ed"), id, both]))
    .digest()
    .subarray(0, 32);
  const secret = Buffer.concat([Buffer.from("Ed\0\0B2"), Buffer.alloc(48), id, both, checksum]);
  const shown = Buffer.concat([Buffer.from("Ed"), id, pub]);
  return {
    secret: `untrusted comment: minisign secret key\n${secret.toString("base64")}\n`,
    public: `untrusted comment: minisign public key ${Buffer.from(id).reverse().toString("hex").toUpperCase()}\n${shown.toString("base64")}\n`,
  };
}

export function readSecretKey(path: string): SecretKey {
  const bytes = Buffer.from(readFileSync(path, "utf8").split(/\r?\n/)[1] ?? "", "base64");
  if (bytes.length !== 158 || bytes.subarray(0, 2).toString() !== "Ed")
    throw new Error(`${path} is no minisign secret key`);
  if (bytes.readUInt16BE(2) !== 0)
    throw new Error(`${path} has a password; make a key without one: minisign -G -W`);
  return { id: bytes.subarray(54, 62), seed: bytes.subarray(62, 94) };
}

/** The text of `<file>.minisig`. Name and version are in the trusted comment, so that a signature counts for nothing else. */
export async function signFile(
  path: string,
  name: string,
  tag: string,
  { id, seed }: SecretKey,
): Promise<string> {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const hash = createHash("blake2b512");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  const mark = sign(null, hash.digest(), key);
  const comment = `timestamp:${Math.floor(Date.now() / 1000)}\tfile:${name}\tversion:${tag}\thashed`;
  const seal = sign(null, Buffer.concat([mark, Buffer.from(comment)]), key);
  const blob = Buffer.concat([Buffer.from("ED"), id, mark]);
  return `untrusted comment: signature of ${name} ${tag}\n${blob.toString("base64")}\ntrusted comment: ${comment}\n${seal.toString("base64")}\n`;
}

/** What goes into `release_public_key`. */
export function publicKeyOf({ id, seed }: SecretKey): string {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const pub = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  return Buffer.concat([Buffer.from("Ed"), id, pub]).toString("base64");
}
