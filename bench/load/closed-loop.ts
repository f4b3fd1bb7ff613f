import { FrameReader, webSocketHandshake } from "./frame-reader.ts";
import { type AnswerReader, HttpReader } from "./http-reader.ts";

export interface Load {
  readonly port: number;
  readonly protocol: "http" | "websocket";
  /** Sent in turn, over all connections together. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  /** Whether the server speaks TLS, with a certificate of our own. */
  readonly isTls?: boolean;
  /** Whether all requests are HEAD, whose answers have no bodies. */
  readonly isHead?: boolean;
  /** Whether each request has a connection of its own, so that its handshake counts. */
  readonly isEachNew?: boolean;
}

/** When a load ends. At least one request is sent. */
export interface Stop {
  readonly requests?: number;
  readonly seconds?: number;
}

export interface Done {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * closedLoop sends a request on each connection, and the next when the answer is complete. It writes ready-made bytes and only counts
 * what arrives: a whole HTTP client would need more of its core than some of the servers need of theirs.
 */
export async function closedLoop(load: Load, stop: Stop): Promise<Done> {
  const begin = performance.now();
  const until = begin + (stop.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const most = stop.requests ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  const next = (): Buffer | undefined => {
    if (sent >= most || (sent > 0 && performance.now() >= until)) return undefined;
    sent += 1;
    return load.requests[sent % load.requests.length];
  };
  const inTurn = () => (load.isEachNew ? oneByOne(load, next) : converse(load, next));
  await Promise.all(Array.from({ length: Math.min(load.connections, most) }, inTurn));
  return { requests: sent, seconds: (performance.now() - begin) / 1000 };
}

/** A connection for each request, one after the other. */
async function oneByOne(load: Load, next: () => Buffer | undefined): Promise<void> {
  for (let request = next(); request !== undefined; request = next()) {
    const left = [request];
    await converse(load, () => left.pop());
  }
}

/** One connection, until `next` has no further request for it. */
function converse(
  { port, protocol, isTls = false, isHead = false }: Load,
  next: () => Buffer | undefined,
): Promise<void> {
  const reader: AnswerReader = protocol === "http" ? new HttpReader({ isHead }) : new FrameReader();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let unsent: Buffer = protocol === "http" ? Buffer.alloc(0) : webSocketHandshake;
  let finished = false;
  let checked = false;
  const write = (socket: Bun.Socket, bytes: Buffer) => {
    const written = socket.write(bytes);
    unsent = written < bytes.length ? bytes.subarray(Math.max(written, 0)) : Buffer.alloc(0);
  };
  const proceed = (socket: Bun.Socket) => {
    const request = next();
    if (request !== undefined) return write(socket, request);
    finished = true;
    resolve();
    socket.end();
  };
  const begin = (socket: Bun.Socket) => (protocol === "http" ? proceed(socket) : write(socket, unsent));
  Bun.connect({
    hostname: "127.0.0.1",
    port,
    ...(isTls ? { tls: { rejectUnauthorized: false } } : {}),
    socket: {
      open: (socket) => (isTls ? undefined : begin(socket)),
      handshake: begin,
      data(socket, bytes) {
        if (finished) return;
        try {
          // A call that fails is a success of HTTP; the first answer shows whether the calls are right.
          if (!checked && bytes.includes('"error":{')) throw new Error(`a call failed: ${bytes}`);
          checked = protocol === "http" || !bytes.includes("HTTP/1.1 101");
          if (reader.read(bytes) > 0) proceed(socket);
        } catch (error) {
          finished = true;
          reject(error);
          socket.end();
        }
      },
      drain: (socket) => {
        if (unsent.length > 0) write(socket, unsent);
      },
      close: () => reject(new Error(`the server on port ${port} closed a connection`)),
      error: (_, error) => reject(error),
    },
  }).catch(reject);
  return promise;
}
