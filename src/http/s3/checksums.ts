import { crc32 } from "node:zlib";
import { Pacer } from "../../base/turns.ts";
import { S3Error } from "./errors.ts";

/** Hasher computes a checksum piece by piece. */
interface Hasher {
  update(chunk: Uint8Array): unknown;
  /** In base64. To be called once. */
  digest(encoding: "base64"): string;
}

/** Tables for eight bytes at a time: entry `8 * byte + position`. */
function tablesFor<T>(make: (byte: number) => T, next: (value: T) => T): T[][] {
  const tables = [Array.from({ length: 256 }, (_, byte) => make(byte))];
  while (tables.length < 8) tables.push((tables.at(-1) ?? []).map(next));
  return tables;
}

class Crc32 implements Hasher {
  #value = 0;

  update(chunk: Uint8Array): void {
    this.#value = crc32(chunk, this.#value);
  }

  digest(): string {
    return bigEndian(this.#value);
  }
}

/** CRC-32C (Castagnoli), reflected. */
class Crc32c implements Hasher {
  static #tables: readonly Uint32Array[] | undefined;
  #value = 0xffffffff;

  update(chunk: Uint8Array): void {
    const [t0, t1, t2, t3, t4, t5, t6, t7] = Crc32c.#made() as EightTables<Uint32Array>;
    let crc = this.#value;
    const { length } = chunk;
    const byte = (at: number) => chunk[at] as number;
    let at = 0;
    for (; at + 8 <= length; at += 8) {
      crc ^= byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
      crc =
        (t7[crc & 0xff] as number) ^
        (t6[(crc >>> 8) & 0xff] as number) ^
        (t5[(crc >>> 16) & 0xff] as number) ^
        (t4[crc >>> 24] as number) ^
        (t3[byte(at + 4)] as number) ^
        (t2[byte(at + 5)] as number) ^
        (t1[byte(at + 6)] as number) ^
        (t0[byte(at + 7)] as number);
    }
    for (; at < length; at += 1) crc = (t0[(crc ^ byte(at)) & 0xff] as number) ^ (crc >>> 8);
    this.#value = crc;
  }

  digest(): string {
    return bigEndian(~this.#value >>> 0);
  }

  static #made(): readonly Uint32Array[] {
    const step = (value: number) => (value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1) >>> 0;
    const eightSteps = (value: number) => {
      let result = value;
      for (let bit = 0; bit < 8; bit += 1) result = step(result);
      return result;
    };
    Crc32c.#tables ??= tablesFor(eightSteps, eightSteps).map((table) => Uint32Array.from(table));
    return Crc32c.#tables;
  }
}

/** CRC-64/NVME, reflected, in two halves: numbers of 64 bits would be slow, and so would those without a sign. */
class Crc64Nvme implements Hasher {
  static #tables: { readonly high: readonly Int32Array[]; readonly low: readonly Int32Array[] } | undefined;
  #high = -1;
  #low = -1;

  update(chunk: Uint8Array): void {
    const tables = Crc64Nvme.#made();
    const [h0, h1, h2, h3, h4, h5, h6, h7] = tables.high as EightTables<Int32Array>;
    const [l0, l1, l2, l3, l4, l5, l6, l7] = tables.low as EightTables<Int32Array>;
    let [high, low] = [this.#high, this.#low];
    const { length } = chunk;
    const byte = (at: number) => chunk[at] as number;
    let at = 0;
    for (; at + 8 <= length; at += 8) {
      low ^= byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24);
      high ^= byte(at + 4) | (byte(at + 5) << 8) | (byte(at + 6) << 16) | (byte(at + 7) << 24);
      const [a, b, c, d] = [low & 0xff, (low >>> 8) & 0xff, (low >>> 16) & 0xff, low >>> 24];
      const [e, f, g, h] = [high & 0xff, (high >>> 8) & 0xff, (high >>> 16) & 0xff, high >>> 24];
      low =
        (l7[a] as number) ^
        (l6[b] as number) ^
        (l5[c] as number) ^
        (l4[d] as number) ^
        (l3[e] as number) ^
        (l2[f] as number) ^
        (l1[g] as number) ^
        (l0[h] as number);
      high =
        (h7[a] as number) ^
        (h6[b] as number) ^
        (h5[c] as number) ^
        (h4[d] as number) ^
        (h3[e] as number) ^
        (h2[f] as number) ^
        (h1[g] as number) ^
        (h0[h] as number);
    }
    for (; at < length; at += 1) {
      const index = (low ^ byte(at)) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ (l0[index] as number);
      high = (high >>> 8) ^ (h0[index] as number);
    }
    [this.#high, this.#low] = [high, low];
  }

  digest(): string {
    return bigEndian(~this.#high >>> 0, ~this.#low >>> 0);
  }

  static #made() {
    if (Crc64Nvme.#tables === undefined) {
      const eightSteps = (value: bigint) => {
        let result = value;
        for (let bit = 0; bit < 8; bit += 1)
          result = result & 1n ? (result >> 1n) ^ 0x9a6c9329ac4bc9b5n : result >> 1n;
        return result;
      };
      const tables = tablesFor((byte) => eightSteps(BigInt(byte)), eightSteps);
      // Each entry as two words, the lower one first.
      const half = (which: 0 | 1) =>
        tables.map((table) =>
          new Int32Array(BigUint64Array.from(table).buffer).filter((_, at) => at % 2 === which),
        );
      Crc64Nvme.#tables = { high: half(1), low: half(0) };
    }
    return Crc64Nvme.#tables;
  }
}

type EightTables<T> = readonly [T, T, T, T, T, T, T, T];

function bigEndian(...values: readonly number[]): string {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => {
    bytes.writeUInt32BE(value >>> 0, 4 * at);
  });
  return bytes.toString("base64");
}

/** A checksum by division, as the combination of two needs it: its reflected polynomial, and its bytes. */
const divisions = {
  crc32: { polynomial: 0xedb88320n, bytes: 4 },
  crc32c: { polynomial: 0x82f63b78n, bytes: 4 },
  crc64nvme: { polynomial: 0x9a6c9329ac4bc9b5n, bytes: 8 },
} as const;

/** PartChecksum is the checksum of a part, in base64, and how many bytes the part has. */
export interface PartChecksum {
  readonly value: string;
  readonly size: number;
}

/**
 * combined returns the checksum of parts one after the other, in base64, without their content: to append so many bytes multiplies what
 * was computed before them by a power of x, as in zlib's crc32_combine. Undefined for hashes.
 */
export async function combined(
  name: ChecksumName,
  parts: readonly PartChecksum[],
): Promise<string | undefined> {
  if (name === "sha1" || name === "sha256") return undefined;
  const { polynomial, bytes } = divisions[name];
  const one = 1n << BigInt(8 * bytes - 1);
  const times = (a: bigint, b: bigint): bigint => {
    let [product, shifted] = [0n, b];
    for (let bit = one; bit > 0n; bit >>= 1n) {
      if (a & bit) product ^= shifted;
      shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n;
    }
    return product;
  };
  // x to the eighth (one byte), its square, the square of that, and so on.
  const squares = [one >> 8n];
  const squareAt = (at: number): bigint => {
    for (let last = squares.length - 1; last < at; last += 1)
      squares.push(times(squares[last] ?? one, squares[last] ?? one));
    return squares[at] ?? one;
  };
  // Parts are mostly of one size.
  const powers = new Map<number, bigint>();
  const powerFor = (size: number): bigint => {
    let power = powers.get(size);
    if (power !== undefined) return power;
    power = one;
    for (let [rest, at] = [BigInt(size), 0]; rest > 0n; rest >>= 1n, at += 1)
      if (rest & 1n) power = times(squareAt(at), power);
    powers.set(size, power);
    return power;
  };
  let sum = 0n;
  const pacer = new Pacer();
  for (const { value, size } of parts) {
    if (pacer.isDue) await pacer.nextTurn();
    const own = BigInt(`0x${Buffer.from(value, "base64").toString("hex").padStart(1, "0")}`);
    sum = times(powerFor(size), sum) ^ own;
  }
  return Buffer.from(sum.toString(16).padStart(2 * bytes, "0"), "hex").toString("base64");
}

/** The checksums of S3, by the end of their headers (`x-amz-checksum-crc32`). */
const algorithms = {
  crc32: { bytes: 4, open: (): Hasher => new Crc32() },
  crc32c: { bytes: 4, open: (): Hasher => new Crc32c() },
  crc64nvme: { bytes: 8, open: (): Hasher => new Crc64Nvme() },
  sha1: { bytes: 20, open: (): Hasher => new Bun.CryptoHasher("sha1") },
  sha256: { bytes: 32, open: (): Hasher => new Bun.CryptoHasher("sha256") },
} as const;

export type ChecksumName = keyof typeof algorithms;
export const checksumNames = Object.keys(algorithms) as ChecksumName[];

/** Checksums are those of one object, in base64. */
export type Checksums = { readonly [N in ChecksumName]?: string };

const prefix = "x-amz-checksum-";
/** The name of each with that of its header. */
const checksumHeaderNames = checksumNames.map((name) => [name, prefix + name] as const);

export function openChecksum(name: ChecksumName): Hasher {
  return algorithms[name].open();
}

/** checksumNamed returns the algorithm that a client names, in any case. */
export function checksumNamed(text: string | null | undefined): ChecksumName | undefined {
  const name = text?.toLowerCase();
  return checksumNames.find((known) => known === name);
}

/** checksumHeaders writes checksums as headers. */
export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(Object.entries(checksums).map(([name, value]) => [prefix + name, value]));
}

/** checksumsIn reads the headers that name the checksum of a body, or a trailer. */
export function checksumsIn(headers: Pick<Headers, "get"> | ReadonlyMap<string, string>): Checksums {
  const checksums: { [N in ChecksumName]?: string } = {};
  for (const [name, header] of checksumHeaderNames) {
    const value = headers.get(header);
    if (value === null || value === undefined) continue;
    if (Buffer.from(value, "base64").length !== algorithms[name].bytes)
      throw new S3Error("InvalidRequest", `the value of ${header} is not a checksum`);
    checksums[name] = value;
  }
  return checksums;
}

/** BodyChecksums computes the MD5 of a body, which is its entity tag, and the checksums that its request names or asks for. */
export class BodyChecksums {
  readonly #md5 = new Bun.CryptoHasher("md5");
  readonly #given: Checksums;
  readonly #contentMd5: string | null;
  /** Those that are announced for the trailer. */
  readonly #trailing: readonly ChecksumName[];
  readonly #hashers = new Map<ChecksumName, Hasher>();

  /** `further` is computed even if the request does not name it. */
  constructor({ headers }: { readonly headers: Pick<Headers, "get"> }, further?: ChecksumName) {
    this.#given = checksumsIn(headers);
    this.#contentMd5 = headers.get("content-md5");
    if (this.#contentMd5 !== null && Buffer.from(this.#contentMd5, "base64").length !== 16)
      throw new S3Error("InvalidDigest", "Content-MD5 is not an MD5 in base64");
    this.#trailing = announcedIn(headers.get("x-amz-trailer"));
    const asked = checksumNamed(headers.get("x-amz-sdk-checksum-algorithm"));
    for (const name of checksumNames)
      if (name === asked || name === further || name in this.#given || this.#trailing.includes(name))
        this.#hashers.set(name, openChecksum(name));
  }

  update(chunk: Uint8Array): void {
    this.#md5.update(chunk);
    for (const hasher of this.#hashers.values()) hasher.update(chunk);
  }

  /** finish returns what the body has. Throws S3Error unless that is what the request, and the trailer, say. To be called once. */
  finish(trailer: ReadonlyMap<string, string>): { readonly md5: string; readonly checksums: Checksums } {
    const md5 = this.#md5.digest("hex");
    if (this.#contentMd5 !== null && Buffer.from(this.#contentMd5, "base64").toString("hex") !== md5)
      throw badDigest("Content-MD5");
    const checksums: { [N in ChecksumName]?: string } = {};
    for (const [name, hasher] of this.#hashers) checksums[name] = hasher.digest("base64");
    const inTrailer = checksumsIn(trailer);
    const missing = this.#trailing.find((name) => inTrailer[name] === undefined);
    if (missing !== undefined)
      throw new S3Error(
        "MalformedTrailerError",
        `x-amz-trailer announces ${prefix}${missing}, which does not follow the body; nothing was changed`,
      );
    const given = { ...this.#given, ...inTrailer };
    for (const name of checksumNames)
      if (given[name] !== undefined && given[name] !== checksums[name]) throw badDigest(prefix + name);
    return { md5, checksums };
  }
}

/** announcedIn reads the header that names the checksums behind the body. */
function announcedIn(trailer: string | null): ChecksumName[] {
  if (trailer === null) return [];
  const names = trailer.split(",").map((name) => name.trim().toLowerCase());
  return checksumNames.filter((name) => names.includes(prefix + name));
}

function badDigest(header: string): S3Error {
  return new S3Error("BadDigest", `the content does not match ${header}; nothing was changed, send it again`);
}
