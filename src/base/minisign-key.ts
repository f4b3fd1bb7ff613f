import { Fault } from "./fault.ts";

/** MinisignKey is a minisign public key with its id. */
export interface MinisignKey {
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
export function strictBase64(text: string): Buffer {
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
