import { pipeline, type Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip, createZstdCompress } from "node:zlib";
import { acceptedEncodings, compress, type Encoding, streamWindowLog } from "./compression.ts";

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
