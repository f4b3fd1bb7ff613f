import { StringDecoder } from "node:string_decoder";
import type { FdSocketOptions, Socket } from "bun";
import type { Outcome } from "../config/live.ts";
import type { LogEntry } from "../log/entry.ts";
import type { EventCode } from "../log/events.ts";
import type { SampledFamily, SampledProcess } from "../metrics/family.ts";

/** `memberVariable` is set in the environment of a process that a supervisor has started; its value is a `MemberRole` as JSON. */
export const memberVariable = "NODE_SERVER_PROCESS";

/** `channelDescriptor` is the number of a process' end of the socket pair to its supervisor. */
export const channelDescriptor = 3;

/** `startAgainCode` is the exit code of a process that wants to be started anew: its binary on the disk is on trial, or was rolled back. */
export const startAgainCode = 75;

/** `replacedSignal` is the signal of a `stop` for a process that another one has taken the place of. */
export const replacedSignal = "replacement";

/** MemberRole is what a process is started as. */
export interface MemberRole {
  readonly number: number;
  readonly count: number;
  /** True if it takes the place of a process that still runs. */
  readonly takesOver: boolean;
  /** Identifies this run of the server in the roster of nodes: that of the supervisor. */
  readonly boot: string;
}

/**
 * ToMember is a message of the supervisor. A message of an unknown type is ignored: after an update the two may have different
 * versions.
 */
export type ToMember =
  /** As SIGTERM: a second one does not wait. */
  | { readonly type: "stop"; readonly signal: string }
  | { readonly type: "reload"; readonly id: number }
  /** All processes listen, and the first one is to log where. `isNew` is false if another process has done so before. */
  | { readonly type: "announce"; readonly isNew: boolean }
  | { readonly type: "ping" }
  | { readonly type: "sample"; readonly id: number }
  /** The answer to `gather`. */
  | { readonly type: "gathered"; readonly id: number; readonly processes: readonly SampledProcess[] }
  /** An entry of another process. */
  | { readonly type: "entry"; readonly entry: LogEntry }
  /** An event of the supervisor, which has no log of its own. */
  | {
      readonly type: "event";
      readonly code: EventCode;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    };

/** FromMember is a message to the supervisor. */
export type FromMember =
  | { readonly type: "ready"; readonly url: string; readonly version: string }
  /** It stops, and is killed if that takes longer than `maxMs`. */
  | { readonly type: "stopping"; readonly maxMs: number }
  | { readonly type: "pong" }
  | { readonly type: "reloaded"; readonly id: number; readonly outcome: Outcome }
  /** The configuration was read again for a caller: the others must do so too. */
  | { readonly type: "reload-others" }
  /** A new binary is in place. */
  | { readonly type: "restart" }
  | { readonly type: "gather"; readonly id: number }
  | { readonly type: "sampled"; readonly id: number; readonly families: readonly SampledFamily[] }
  | { readonly type: "entry"; readonly entry: LogEntry };

/** Bytes that may wait for a process that does not read; further messages are dropped until it does. */
const maxUnsentBytes = 16 * 1024 * 1024;

interface ChannelEvents<In> {
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
