import { StringDecoder } from "node:string_decoder";
import type { FdSocketOptions, Socket } from "bun";

/** Bytes that may wait for a process that does not read; further messages are dropped until it does. */
const maxUnsentBytes = 16 * 1024 * 1024;

export interface ChannelEvents<In> {
  message(message: In): void;
  /** Called once, when the other end is closed. */
  end(): void;
}

/** JsonChannel sends messages to the process at the other end of a socket pair, each as one line of JSON. */
export interface JsonChannel<Out> {
  send(message: Out): void;
  /** Closes this end. */
  close(): void;
}

/** Bun.connect accepts a descriptor; its types have the options, but not the overload. */
const connectDescriptor = Bun.connect as unknown as (options: FdSocketOptions) => Promise<Socket>;

/** `openJsonChannel` opens one end of a socket pair. Both ends belong to the same program, so what arrives is taken as it is. */
export async function openJsonChannel<In, Out>(
  fd: number,
  { message, end }: ChannelEvents<In>,
): Promise<JsonChannel<Out>> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  /** What the kernel has not accepted yet. */
  let unsent: Buffer = Buffer.alloc(0);
  const socket = await connectDescriptor({
    fd,
    socket: {
      data(_, bytes) {
        const lines = (rest + decoder.write(bytes)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) message(JSON.parse(line) as In);
      },
      close: end,
      // The other process was killed; `close` follows.
      error() {},
      drain: () => write(unsent),
    },
  });
  const write = (bytes: Buffer) => {
    unsent = bytes.length === 0 ? bytes : bytes.subarray(Math.max(0, socket.write(bytes)));
  };
  return {
    send(sent) {
      if (unsent.length > maxUnsentBytes) return;
      const bytes = Buffer.from(`${JSON.stringify(sent)}\n`);
      if (unsent.length === 0) write(bytes);
      else unsent = Buffer.concat([unsent, bytes]);
    },
    close: () => socket.end(),
  };
}
