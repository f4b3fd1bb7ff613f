import { type MemoryBudget, uncountedBytes } from "../../base/memory-budget.ts";
import { wholeNumber } from "../../base/numbers.ts";
import { serviceUnavailable } from "../content/plain.ts";
import type { UnsizedBodies } from "./connection-limiter.ts";

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
const maxUnreadBytes = 1024 * 1024;

/**
 * receivedBytes returns the size of a request's body: what `bodyChunks` has read, else its Content-Length, which a client can set to
 * anything, so that it counts only as far as Bun reads by itself.
 */
export function receivedBytes(request: ReadRequest): number {
  const read = request[received];
  if (read !== undefined) return read;
  return Math.min(declaredLength(request) ?? 0, maxUnreadBytes);
}

/** declaredLength returns the Content-Length of a request; undefined if it has none. The router refuses one that is not a number. */
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

/** UnreadBodies bounds the bodies of requests whose caller is not known yet. */
export interface UnreadBodies {
  readonly memory: MemoryBudget;
  readonly unsizedBodies: UnsizedBodies;
}

/** countUnread counts the body of an unknown caller until it is disposed; undefined if there are too many. */
export function countUnread(
  request: Request,
  address: string,
  { memory, unsizedBodies }: UnreadBodies,
): Disposable | undefined {
  const account = memory.open(address);
  const declared = declaredLength(request);
  // `body` is read last: it makes a stream, and a body that is read whole afterwards would go through it.
  if (declared !== undefined || request.body === null)
    return account.hold(Math.min(declared ?? 0, maxUnreadBytes)) ? account : undefined;
  const permit = unsizedBodies.tryAcquire(address);
  if (permit === undefined) return undefined;
  return { [Symbol.dispose]: () => permit.release() };
}

/** tooManyUnread answers a request that is refused before anything of its body is kept. */
export function tooManyUnread(): Response {
  const response = serviceUnavailable("too many requests of unknown callers are being sent; try again");
  // Otherwise Bun would parse the rest of the body.
  response.headers.set("connection", "close");
  return response;
}
