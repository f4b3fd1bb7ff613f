import type { FdSocketOptions, Socket, Subprocess } from "bun";

/** Environment variables of a child: the process id of its server, the database file, and how the two talk. */
export const parentVariable = "NODE_SERVER_PARENT";
export const databaseVariable = "NODE_SERVER_DATABASE_FILE";
export const channelVariable = "NODE_SERVER_CHANNEL";

/** `socketDescriptor` is the number of the child's end of the socket pair. */
export const socketDescriptor = 3;

/**
 * ChannelKind is how the server and a child talk: over a socket pair, or over standard input and output on Windows, which has no
 * socket pairs. Measured there and back, both processes together: 14 µs over a socket pair, 29 µs over pipes.
 */
export type ChannelKind = "socket" | "pipes";
export const channelKind: ChannelKind = process.platform === "win32" ? "pipes" : "socket";

export interface ChannelEvents {
  data(bytes: Buffer): void;
  /** Called once, when the child has closed its end and all that it sent has arrived. */
  end(): void;
}

/** Channel is the server's end. */
export interface Channel {
  readonly process: Subprocess;
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
  return options.kind === "socket" ? openSocket(options) : openPipes(options);
}

/** Bun.connect accepts a descriptor; its types have the options, but not the overload. */
const connectDescriptor = Bun.connect as unknown as (options: FdSocketOptions) => Promise<Socket>;

async function openSocket({ kind, command, env, data, end }: ChannelOptions): Promise<Channel> {
  const child = Bun.spawn([...command], {
    env: { ...env, [channelVariable]: kind },
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
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
  return { process: child, send };
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
