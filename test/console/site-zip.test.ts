import { expect, test } from "bun:test";
import { crc32, deflateRawSync } from "node:zlib";
import { Sha256 } from "../../src/console/pages/buckets/deploys/sha256.ts";
import { readSite } from "../../src/console/pages/buckets/deploys/site.ts";
import { ZipError } from "../../src/console/pages/buckets/deploys/zip.ts";

interface Packed {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
  readonly size?: number;
  /** Attributes of Unix. */
  readonly mode?: number;
  /** Shares the bytes of the first one. */
  readonly overlaps?: boolean;
}

/** An archive, with whatever is wrong in it. */
function zipOf(entries: readonly Packed[], { count = entries.length, comment = "" } = {}): File {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const { content = "", method = 8, flags = 0x800, mode = 0o100644, overlaps = false } = entry;
    const [name, plain] = [Buffer.from(entry.name), Buffer.from(content)];
    const packed = method === 8 ? deflateRawSync(plain) : plain;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(entry.crc ?? crc32(plain), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.size ?? plain.length, 18);
    common.writeUInt16LE(name.length, 22);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(3 << 8, 4);
    common.copy(central, 6);
    central.writeUInt32LE(mode * 0x10000, 38);
    central.writeUInt32LE(overlaps ? 0 : at, 42);
    directory.push(central, name);
    if (overlaps) continue;
    const mark = Buffer.from("504b0304", "hex");
    parts.push(mark, common, name, packed);
    at += 30 + name.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  end.writeUInt16LE(comment.length, 20);
  return new File([Buffer.concat([...parts, listed, end, Buffer.from(comment)])], "site.zip");
}

const siteIn = (file: File) => readSite({ files: [{ path: file.name, file }], emptyFolders: [] });

async function contentsIn(file: File): Promise<Record<string, string>> {
  const { files } = await siteIn(file);
  const pairs: [string, string][] = [];
  for (const { path, pieces, blob } of files) {
    const read: Uint8Array[] = [];
    for await (const piece of pieces()) read.push(piece);
    const text = Buffer.concat(read).toString();
    expect(await (await blob()).text()).toBe(text);
    pairs.push([path, text]);
  }
  return Object.fromEntries(pairs);
}

async function faultOf(file: File): Promise<string> {
  try {
    await contentsIn(file);
  } catch (error) {
    if (error instanceof ZipError) return error.fault;
    throw error;
  }
  return "none";
}

test("a ZIP archive is read as a site, without its one top folder and what no site needs", async () => {
  const long = "text ".repeat(50_000);
  const archive = zipOf(
    [
      { name: "dist/", method: 0, mode: 0o040755 },
      { name: "dist/index.html", content: long },
      { name: "dist/a/é ü.txt", content: "stored", method: 0 },
      { name: "dist\\back\\slash.txt", content: "from Windows" },
      { name: "dist/link", content: "/etc/passwd", mode: 0o120777 },
      { name: "dist/.well-known/x", content: "kept" },
      { name: "dist/.git/config", content: "secret" },
      { name: "__MACOSX/dist/._index.html", content: "fork" },
    ],
    { comment: "made by hand" },
  );
  expect(await contentsIn(archive)).toEqual({
    "index.html": long,
    "a/é ü.txt": "stored",
    "back/slash.txt": "from Windows",
    ".well-known/x": "kept",
  });
  expect(await siteIn(archive)).toMatchObject({ name: "site.zip", skipped: 2, unusable: [] });
  const flat = zipOf([{ name: "docs/a.html" }, { name: "index.html" }]);
  expect(Object.keys(await contentsIn(flat))).toEqual(["docs/a.html", "index.html"]);
});

test("an archive that is damaged, cannot be read, or is made to do harm is refused with its reason", async () => {
  const page = { name: "index.html", content: "page" };
  const whole = Buffer.from(await zipOf([page]).arrayBuffer());
  const refused: Readonly<Record<string, File>> = {
    no_zip: new File(["not an archive"], "site.zip"),
    damaged: new File([whole.subarray(0, 10), whole], "site.zip"),
    path: zipOf([page, { name: "../../etc/cron.d/x" }]),
    encrypted: zipOf([{ ...page, flags: 0x801 }]),
    method: zipOf([{ ...page, method: 12 }]),
    name: zipOf([{ name: Buffer.from([0x81, 0x66]) }]),
    duplicate: zipOf([page, page]),
    zip64: zipOf([page], { count: 0xffff }),
    too_many: zipOf([page], { count: 20_001 }),
    file_too_large: zipOf([{ ...page, size: 200 * 1024 ** 2 }]),
    too_large: zipOf([1, 2].map((at) => ({ name: `${at}`, size: 120 * 1024 ** 2 }))),
  };
  const { too_large, ...others } = refused;
  for (const [fault, file] of Object.entries(others))
    expect([fault, await faultOf(file)]).toEqual([fault, fault]);
  // Below the limit of the sizes, but far above what deflate makes of texts.
  expect(await faultOf(too_large as File)).toBe("ratio");
  for (const [why, entries] of Object.entries({
    absolute: [{ name: "/etc/passwd" }],
    "a drive": [{ name: "C:/x" }],
    "a dot": [{ name: "a/./b" }],
  } satisfies Record<string, Packed[]>))
    expect([why, await faultOf(zipOf(entries))]).toEqual([why, "path"]);
  for (const [why, entries] of Object.entries({
    "shared bytes": [page, { name: "copy.html", content: "page", overlaps: true }],
    "another sum": [{ ...page, crc: 1 }],
    "more than it says": [{ ...page, size: 2 }],
    "less than it says": [{ ...page, size: 9 }],
  } satisfies Record<string, Packed[]>))
    expect([why, await faultOf(zipOf(entries))]).toEqual([why, "damaged"]);
  expect(await faultOf(zipOf([page, { name: "index.html/x" }]))).toBe("duplicate");
  expect(await faultOf(zipOf([{ name: "e\u0301" }, { name: "\u00e9" }]))).toBe("duplicate");
});

test("content is hashed piece by piece as SHA-256", () => {
  const content = Buffer.from("0123456789".repeat(30));
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 300])
    for (const step of [1, 7, 64, 300]) {
      const hash = new Sha256();
      for (let at = 0; at < length; at += step)
        hash.update(content.subarray(at, Math.min(at + step, length)));
      const expected = new Bun.CryptoHasher("sha256").update(content.subarray(0, length)).digest("hex");
      expect([length, step, hash.digest()]).toEqual([length, step, expected]);
    }
});
