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
  const declared = Number(request.headers.get("content-length") ?? 0);
  return declared > 0 ? Math.min(declared, maxUnreadBytes) : 0;
}
