import { pipeline, Readable, Transform } from "node:stream";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import {
  type BrotliOptions,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
} from "node:zlib";
import { FairSemaphore } from "../../base/concurrency.ts";
import type { ContentBudget } from "../../base/memory-budget.ts";
import { qualityIn } from "../../base/numbers.ts";
import { isSettled, type OpenFile } from "../../buckets/ports.ts";
import type { StreamMeter } from "./plain.ts";

/** Files compressed whole at a time. Each occupies a thread of the pool and up to 20 MB. */
const maxWholeFiles = 2;
/** Files that wait to be compressed whole. Each holds a descriptor and no content. */
const maxWaitingFiles = 32;
/** Large files compressed while they are sent. A client that does not read keeps one until its connection times out. */
const maxStreams = 8;

/** CompressedStream is a large file that can be compressed while it is sent. One of its methods must be called, once. */
export interface CompressedStream {
  /** `meter` counts the compressed bytes. */
  start(meter: StreamMeter): ReadableStream<Uint8Array>;
  cancel(): void;
}

/**
 * Compression makes the compressed variants of files and bounds what that costs: clients that request one file at the same time share
 * one compression, and a file that would have to wait for too many others goes out plain.
 */
export class Compression {
  readonly #semaphore = new FairSemaphore(maxWholeFiles);
  /** Compressions that run or wait, by the file's content and the encoding. */
  readonly #shared = new Map<string, Promise<Blob>>();
  #unfinished = 0;
  #streams = 0;
  readonly #budget: ContentBudget;

  constructor(budget: ContentBudget) {
    this.#budget = budget;
  }

  /**
   * Compresses a small file and closes it. Undefined if too many others wait or the budget is spent; the file is then still open
   * and the caller must close it.
   */
  whole(file: OpenFile, encoding: Encoding): Promise<Blob> | undefined {
    const key = `${encoding} ${file.contentKey}`;
    const running = this.#shared.get(key);
    if (running !== undefined) return closeAndWait(file, running);
    if (this.#unfinished >= maxWholeFiles + maxWaitingFiles || this.#budget.isSpent) return undefined;
    // A file changed a moment ago may change again under the same validator, so the result is not shared with other requests.
    if (!isSettled(file.stats)) return this.#compress(file, encoding);
    const compressed = this.#compress(file, encoding).finally(() => this.#shared.delete(key));
    this.#shared.set(key, compressed);
    return compressed;
  }

  async #compress(file: OpenFile, encoding: Encoding): Promise<Blob> {
    await using opened = file;
    this.#unfinished += 1;
    await this.#semaphore.acquire();
    try {
      const blob = new Blob([await compress(await opened.bytes(), encoding)]);
      this.#budget.add(blob.size);
      return blob;
    } finally {
      this.#semaphore.release();
      this.#unfinished -= 1;
    }
  }

  /** Compresses a large file while it is sent and closes it. Undefined if too many streams run; the caller must then close the file. */
  stream(file: OpenFile, encoding: Encoding): CompressedStream | undefined {
    if (this.#streams >= maxStreams) return undefined;
    this.#streams += 1;
    const close = () => {
      this.#streams -= 1;
      void file[Symbol.asyncDispose]();
    };
    return {
      start: (meter) => {
        const counted = new Transform({
          transform(chunk: Uint8Array, _, done) {
            meter.add(chunk.byteLength);
            done(null, chunk);
          },
        });
        const compressing = compressor(encoding);
        const written = writeInto(compressing, file);
        // Called once: all was sent, or the client left and the streams were destroyed with it.
        pipeline(compressing, counted, () => {
          meter.end();
          void written.then(close);
        });
        return Readable.toWeb(counted) as unknown as ReadableStream<Uint8Array>;
      },
      cancel: close,
    };
  }
}

async function closeAndWait(file: OpenFile, running: Promise<Blob>): Promise<Blob> {
  await file[Symbol.asyncDispose]();
  return running;
}

/**
 * Writes a file into a compressor and ends it; resolves when the file is needed no more. A compressor that is destroyed ends the
 * reading, and a file that cannot be read destroys the compressor. All of the file is read into the same memory: with new memory for
 * each chunk, the garbage collector would stop the server fifty times a second.
 */
async function writeInto(compressing: Transform, file: OpenFile): Promise<void> {
  try {
    for await (const chunk of file.chunks(undefined, { reusesMemory: true }))
      if (!(await isTaken(compressing, chunk))) return;
    compressing.end();
  } catch (error) {
    compressing.destroy(error as Error);
  }
}

/** True once the chunk is compressed, false if the compressor was destroyed, which may then not report to a `write` any more. */
function isTaken(compressing: Transform, chunk: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    compressing.once("close", onClose);
    compressing.write(chunk, (error) => {
      compressing.off("close", onClose);
      resolve(error == null);
    });
  });
}

/** encodings lists the content codings we make, in our order of preference, which decides between equal weights. */
const encodings = ["zstd", "br", "gzip"] as const;
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

function compress(bytes: Uint8Array, encoding: Encoding): Promise<Uint8Array> {
  return compressors[encoding](bytes);
}

/**
 * streamWindowLog is the base-2 logarithm of a stream's window, far below the defaults, at a cost in size that is hard to
 * measure. A stream takes
 * 2.4 MB with Brotli (12.7 by default), 1.7 MB with Zstandard (3.5) and 0.4 MB with gzip, whose window is always 32 KiB.
 */
const streamWindowLog = 18;

/** compressor returns a transform that compresses a file while it is sent. */
function compressor(encoding: Encoding): Transform {
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

/** minCompressedChars is the length from which a compressed answer saves a packet. Shorter ones are not even asked about. */
export const minCompressedChars = 1024;
/** Answers that are compressed at a time; further ones are sent plain. A short one occupies a thread of the pool, a long one about 2 MB. */
const maxShort = 8;
const maxLong = 16;
let short = 0;
let long = 0;

/** answerEncoding returns the encoding for an answer that is made for this request; undefined if it is to be sent plain. */
export function answerEncoding(
  { headers }: Request,
  { isLong }: { readonly isLong: boolean },
): Encoding | undefined {
  if (isLong ? long >= maxLong : short >= maxShort) return undefined;
  return acceptedEncodings(headers.get("accept-encoding"))[0];
}

/** encodedHeaders returns the headers of an answer that is compressed. */
export function encodedHeaders(encoding: Encoding): Record<string, string> {
  return { "content-encoding": encoding, vary: "accept-encoding" };
}

/** compressShort compresses an answer that is in memory. */
export async function compressShort(text: string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  short += 1;
  try {
    return (await compress(Buffer.from(text), encoding)) as Uint8Array<ArrayBuffer>;
  } finally {
    short -= 1;
  }
}

/**
 * compressLong compresses an answer while it is made. Each part leaves as soon as it is compressed, so that the first one waits
 * for nothing. A reader that ends early, and a client that leaves, end the parts too.
 */
export async function* compressLong(
  parts: AsyncIterable<Uint8Array>,
  encoding: Encoding,
  left: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const compressor = flushingCompressor(encoding);
  long += 1;
  let isCounted = true;
  const end = () => {
    if (isCounted) long -= 1;
    isCounted = false;
    left.removeEventListener("abort", end);
    compressor.destroy();
  };
  // Bun may drop the body of a client that left without ending what makes it.
  left.addEventListener("abort", end);
  try {
    // A failure of the parts is thrown by the loop.
    pipeline(parts, compressor, () => undefined);
    for await (const piece of compressor) yield piece as Uint8Array;
  } finally {
    end();
  }
}

function flushingCompressor(encoding: Encoding): Transform {
  switch (encoding) {
    case "zstd":
      return createZstdCompress({
        flush: constants.ZSTD_e_flush,
        params: { [constants.ZSTD_c_windowLog]: streamWindowLog },
      });
    case "br":
      return createBrotliCompress({
        flush: constants.BROTLI_OPERATION_FLUSH,
        params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: streamWindowLog },
      });
    case "gzip":
      return createGzip({ flush: constants.Z_SYNC_FLUSH });
  }
}
