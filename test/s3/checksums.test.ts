import { expect } from "bun:test";
import { type ChecksumName, openChecksum } from "../../src/http/s3/checksums.ts";
import { test } from "../support/test.ts";

/** The check values of the catalogue of CRCs, and of the standards of the hashes, of the text `123456789`. */
const known: Readonly<Record<ChecksumName, string>> = {
  crc32: "cbf43926",
  crc32c: "e3069283",
  crc64nvme: "ae8b14860a799888",
  sha1: "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
  sha256: "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
};

for (const [name, value] of Object.entries(known) as Array<[ChecksumName, string]>)
  test(`${name} is that of the standard, however the content is cut`, () => {
    const content = Buffer.from("123456789".repeat(1));
    const of = (...cuts: number[]) => {
      const hasher = openChecksum(name);
      let from = 0;
      for (const to of [...cuts, content.length]) {
        hasher.update(content.subarray(from, to));
        from = to;
      }
      return Buffer.from(hasher.digest("base64"), "base64").toString("hex");
    };
    expect([of(), of(1), of(8), of(3, 5)]).toEqual([value, value, value, value]);
  });
