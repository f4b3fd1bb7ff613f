import type { Transform } from "node:stream";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import {
  type BrotliOptions,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
} from "node:zlib";
import { qualityIn } from "../../base/numbers.ts";

/** encodings lists the content codings we make, in our order of preference, which decides between equal weights. */
export const encodings = ["zstd", "br", "gzip"] as const;
export type Encoding = (typeof encodings)[number];

/** suffixes are what a file compressed beforehand adds to the name of the plain one. */
export const suffixes: Readonly<Record<Encoding, string>> = { zstd: ".zst", br: ".br", gzip: ".gz" };

/** plainOnly is what a client accepts that accepts no encoding. */
export const plainOnly: readonly Encoding[] = [];

/** Every order of preference that was seen, by its names: 16 are possible. */
const preferences = new Map<string, readonly Encoding[]>([["", plainOnly]]);
/** Encodings by the text of the header. Browsers send few different ones; the limits keep strangers from filling the memory with more. */
const parsed = new Map<string, readonly Encoding[]>();
const maxParsed = 64;
const maxParsedChars = 128;

/** acceptedEncodings returns the encodings that a client accepts, best first: the same array for the same order. RFC 9110 §12.5.3. */
export function acceptedEncodings(header: string | null): readonly Encoding[] {
  if (header === null || header === "") return plainOnly;
  const known = parsed.get(header);
  if (known !== undefined) return known;
  const accepted = parse(header);
  const names = accepted.join();
  const preference = preferences.get(names) ?? accepted;
  preferences.set(names, preference);
  if (parsed.size === maxParsed) parsed.clear();
  if (header.length <= maxParsedChars) parsed.set(header, preference);
  return preference;
}

/**
 * encodingsFor returns the encodings to consider for a request. A range is always one of the plain bytes, so that a client can
 * combine it with others.
 */
export function encodingsFor(headers: Headers): readonly Encoding[] {
  return headers.has("range") ? plainOnly : acceptedEncodings(headers.get("accept-encoding"));
}

function parse(header: string): readonly Encoding[] {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const [name = "", ...params] = item.split(";").map((part) => part.trim());
    weights.set(name === "x-gzip" ? "gzip" : name, qualityIn(params));
  }
  const anything = weights.get("*") ?? 0;
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? anything;
  return encodings.filter((encoding) => weightOf(encoding) > 0).sort((a, b) => weightOf(b) - weightOf(a));
}

/** Quality 5 of 11: fast enough for a request that waits. */
const brotli: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const compressors: Readonly<Record<Encoding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  zstd: promisify(zlib.zstdCompress) as (bytes: Uint8Array) => Promise<Uint8Array>,
  br: (bytes) => promisify(zlib.brotliCompress)(bytes, brotli) as unknown as Promise<Uint8Array>,
  gzip: promisify(zlib.gzip) as (bytes: Uint8Array) => Promise<Uint8Array>,
};

export function compress(bytes: Uint8Array, encoding: Encoding): Promise<Uint8Array> {
  return compressors[encoding](bytes);
}

/**
 * streamWindowLog is the base-2 logarithm of a stream's window, far below the defaults, at a cost in size that is hard to
 * measure. A stream takes
 * 2.4 MB with Brotli (12.7 by default), 1.7 MB with Zstandard (3.5) and 0.4 MB with gzip, whose window is always 32 KiB.
 */
export const streamWindowLog = 18;

/** compressor returns a transform that compresses a file while it is sent. */
export function compressor(encoding: Encoding): Transform {
  switch (encoding) {
    case "zstd":
      return createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: streamWindowLog } });
    case "br":
      return createBrotliCompress({
        params: {
          [constants.BROTLI_PARAM_QUALITY]: 4,
          [constants.BROTLI_PARAM_LGWIN]: streamWindowLog,
        },
      });
    case "gzip":
      return createGzip({ level: 6 });
  }
}
