import { closeSync } from "node:fs";
import type { FdSocketOptions, Socket, Subprocess } from "bun";
import { type BatchMemory, createBatchMemory } from "./batch-memory.ts";

/** Environment variables of a child: the process id of its server, the database file, and how the two talk. */
export const parentVariable = "NODE_SERVER_PARENT";
export const databaseVariable = "NODE_SERVER_DATABASE_FILE";
export const channelVariable = "NODE_SERVER_CHANNEL";

/** `socketDescriptor` is the number of the child's end of the socket pair, `memoryDescriptor` that of the shared memory. */
export const socketDescriptor = 3;
export const memoryDescriptor = 4;

/**
 * ChannelKind is how the server and a child talk: over a socket pair, with shared memory beside it for batches of requests (Linux only);
 * over a socket pair alone; or over standard input and output on Windows, which has no socket pairs. Measured there and back, both
 * processes together: 14 µs over a socket pair, 29 µs over pipes.
 */
export type ChannelKind = "memory" | "socket" | "pipes";
export const channelKind: ChannelKind = process.platform === "win32" ? "pipes" : "memory";

interface ChannelEvents {
  data(bytes: Buffer): void;
  /** Called once, when the child has closed its end and all that it sent has arrived. */
  end(): void;
}

/** Channel is the server's end. */
export interface Channel {
  readonly process: Subprocess;
  /** Undefined if there is none; then the child takes one request at a time. */
  readonly memory?: BatchMemory | undefined;
  send(bytes: Buffer): void;
}

interface ChannelOptions extends ChannelEvents {
  readonly kind: ChannelKind;
  /** The command that runs `runSqliteChild`. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `openChannel` starts the process of a child. */
export function openChannel(options: ChannelOptions): Promise<Channel> {
  return options.kind === "pipes" ? openPipes(options) : openSocket(options);
}

/** Bun.connect accepts a descriptor; its types have the options, but not the overload. */
const connectDescriptor = Bun.connect as unknown as (options: FdSocketOptions) => Promise<Socket>;

async function openSocket({ kind, command, env, data, end }: ChannelOptions): Promise<Channel> {
  const shared = kind === "memory" ? createBatchMemory() : undefined;
  const possibleKind: ChannelKind = shared === undefined ? "socket" : "memory";
  const child = spawnWith(command, { ...env, [channelVariable]: possibleKind }, shared?.descriptor);
  const fd = child.stdio[socketDescriptor];
  if (typeof fd !== "number") {
    child.kill("SIGKILL");
    throw new TypeError("the runtime opened no socket pair");
  }
  /** What the kernel has not accepted yet. */
  let unsent: Buffer = Buffer.alloc(0);
  const socket = await connectDescriptor({
    fd,
    socket: {
      data: (_, bytes) => data(bytes),
      close: end,
      // The child was killed; `close` follows.
      error: () => {},
      drain: () => {
        if (unsent.length > 0) write(unsent);
      },
    },
  });
  const write = (bytes: Buffer) => {
    unsent = bytes.subarray(Math.max(0, socket.write(bytes)));
  };
  const send = (bytes: Buffer) => write(unsent.length === 0 ? bytes : Buffer.concat([unsent, bytes]));
  return { process: child, memory: shared?.memory, send };
}

/** `spawnWith` starts a child that has one end of a socket pair, and the descriptor of the shared memory, which is closed here. */
function spawnWith(
  command: readonly string[],
  env: Record<string, string>,
  memory: number | undefined,
): Subprocess {
  try {
    const shared = memory === undefined ? [] : [memory];
    return Bun.spawn([...command], { env, stdio: ["ignore", "inherit", "inherit", "pipe", ...shared] });
  } finally {
    if (memory !== undefined) closeSync(memory);
  }
}

async function openPipes({ kind, command, env, data, end }: ChannelOptions): Promise<Channel> {
  const child = Bun.spawn([...command], {
    env: { ...env, [channelVariable]: kind },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const read = async () => {
    for await (const { buffer, byteOffset, byteLength } of child.stdout)
      data(Buffer.from(buffer, byteOffset, byteLength));
  };
  // It rejects if the child was killed.
  read().then(end, end);
  return {
    process: child,
    send: (bytes) => {
      child.stdin.write(bytes);
      child.stdin.flush();
    },
  };
}

/**
 * FrameKind is what a frame between the server and a child carries. The server sends `ping`, `execute`, `sizes`, and for a cursor
 * `open` and `next`; the child answers each with `result` or `fault`. Before that it may send `committed` frames: the number of statements of the request that are committed,
 * because it may be killed before it can answer. A `batch` frame tells how many requests follow it as one batch. Only the answer of
 * its last request is sent for certain, or `skipped` if the server has taken that back; the others may be in the shared memory.
 */
export const frameKinds = {
  ping: 0,
  execute: 1,
  sizes: 2,
  result: 3,
  fault: 4,
  committed: 5,
  batch: 6,
  skipped: 7,
  open: 8,
  next: 9,
} as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

/** A frame is the length of its text in bytes (32 bits, little endian), its kind (one byte), and the text in UTF-8. */
const headerBytes = 5;

export interface Frame {
  readonly kind: FrameKind;
  readonly text: string;
}

/** `encodeFrames` returns the bytes of several frames, one after the other. */
export function encodeFrames(frames: readonly Frame[]): Buffer {
  const sizes = frames.map(({ text }) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + headerBytes + size, 0));
  let at = 0;
  for (const [n, { kind, text }] of frames.entries()) {
    const size = sizes[n] ?? 0;
    bytes.writeUInt32LE(size, at);
    bytes[at + 4] = kind;
    bytes.write(text, at + headerBytes);
    at += headerBytes + size;
  }
  return bytes;
}

export function encodeFrame(kind: FrameKind, text: string): Buffer {
  return encodeFrames([{ kind, text }]);
}

/** FrameReader cuts the bytes of a channel into frames. */
export class FrameReader {
  readonly #onFrame: (kind: number, text: string) => void;
  /** The begin of a frame that is not complete yet. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wantedBytes = 0;

  constructor(onFrame: (kind: number, text: string) => void) {
    this.#onFrame = onFrame;
  }

  /** Reads the next bytes, which may be overwritten afterwards. */
  push(chunk: Buffer): void {
    let data = chunk;
    if (this.#bytes > 0) {
      this.#keep(chunk);
      if (this.#bytes < this.#wantedBytes) return;
      // The chunks of a large frame are joined once, not one by one.
      data = Buffer.concat(this.#chunks);
      this.#chunks = [];
      this.#bytes = 0;
    }
    let at = 0;
    for (let end = endOf(data, at); end <= data.length; end = endOf(data, at)) {
      const text = data.toString("utf8", at + headerBytes, end);
      const kind = data[at + 4] ?? 0;
      at = end;
      this.#onFrame(kind, text);
    }
    if (at === data.length) return;
    this.#wantedBytes = endOf(data, at) - at;
    this.#keep(data.subarray(at));
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
  }
}

/** `endOf` is where the frame at `start` ends, as far as its header is there to tell. */
function endOf(data: Buffer, start: number): number {
  const body = start + headerBytes;
  return data.length < body ? body : body + data.readUInt32LE(start);
}
