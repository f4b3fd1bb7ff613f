import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { createDeflateRaw, deflateRaw } from "node:zlib";

/** The longest block that RFC 1951 §3.2.4 has for content that is not compressed. */
const maxStoredBlock = 0xffff;

/** deflateWhole compresses content that is in memory. */
export const deflateWhole = promisify(deflateRaw) as unknown as (bytes: Uint8Array) => Promise<Uint8Array>;

/** deflated compresses content while it is read. A reader that ends early ends the source too. */
export async function* deflated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const deflate = createDeflateRaw();
  // A failure of the source is thrown by the loop.
  pipeline(chunks, deflate, () => undefined);
  for await (const piece of deflate) yield piece as Uint8Array;
}

/**
 * undeflated wraps content in blocks of deflate without compressing it, 5 bytes for each 64 KiB. So its end is in the content,
 * which readers need that do not know the size beforehand.
 */
export async function* undeflated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    const blocks: Uint8Array[] = [];
    for (let at = 0; at < chunk.length; at += maxStoredBlock) {
      const block = chunk.subarray(at, at + maxStoredBlock);
      blocks.push(blockHeader(block.length, { isLast: false }), block);
    }
    yield Buffer.concat(blocks);
  }
  yield blockHeader(0, { isLast: true });
}

function blockHeader(length: number, { isLast }: { readonly isLast: boolean }): Buffer {
  const header = Buffer.alloc(5);
  header[0] = isLast ? 1 : 0;
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(~length & 0xffff, 3);
  return header;
}
