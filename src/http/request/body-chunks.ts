import { uncountedBytes } from "../../base/memory-budget.ts";
import { wholeNumber } from "../../base/numbers.ts";

/** Chunks read before the event loop gets to other requests; those that arrive meanwhile come as one. */
const chunksPerTick = 64;

const received = Symbol("received");

/** A request with the number of bytes of its body that were read. */
interface ReadRequest extends Request {
  [received]?: number;
}

/** bodyChunks reads the body of a request as it arrives. A client that sends a byte at a time does not keep the event loop busy. */
export async function* bodyChunks(request: ReadRequest): AsyncGenerator<Uint8Array> {
  let count = 0;
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    request[received] = bytes;
    yield chunk;
    count += 1;
    if (count % chunksPerTick === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Bun buffers at most this much of a body that is not read. */
export const maxUnreadBytes = 1024 * 1024;

/**
 * receivedBytes returns the size of a request's body: what `bodyChunks` has read, else its Content-Length, which a client can set to
 * anything, so that it counts only as far as Bun reads by itself.
 */
export function receivedBytes(request: ReadRequest): number {
  const read = request[received];
  if (read !== undefined) return read;
  return Math.min(declaredLength(request) ?? 0, maxUnreadBytes);
}

/** declaredLength is the Content-Length of a request; undefined if it has none. The router refuses one that is not a number. */
export function declaredLength({ headers }: Request): number | undefined {
  return wholeNumber(headers.get("content-length"));
}

/**
 * readBody reads a body of at most `maxBytes`; undefined if it is larger. A short one with a Content-Length, which Bun does not
 * exceed, is read whole, because pieces cost twice the time of a small call. Others are counted as they arrive.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > maxBytes) return undefined;
  if (declared !== undefined && declared <= uncountedBytes) return Buffer.from(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
