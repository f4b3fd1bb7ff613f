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

export interface ChannelEvents {
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

export interface ChannelOptions extends ChannelEvents {
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
