import type { Step } from "./connections.ts";
import { PermissionDenied } from "./errors.ts";
import { LogJoin } from "./log-join.ts";
import type { LogEntry } from "./methods.ts";
import { eventOf } from "./server-event.ts";

export interface FollowLogOptions {
  /** As `RUST_LOG`: `info`, `debug,db=trace`, `token`, `off`. */
  readonly log_filter: string;
  readonly signal?: AbortSignal | undefined;
  /** How many entries wait for the loop; 10,000 unless said otherwise. */
  readonly buffer?: number;
  /** After so long a silence the server is asked whether it is there; 30,000 unless said otherwise, 0 never. */
  readonly heartbeatMs?: number;
}

export type LogEvent = LogEntries | LogConnected | LogBroken | LogGap | LogMissed;

/** One entry at the least, oldest first: all that are there at the time. */
export interface LogEntries {
  readonly kind: "entries";
  readonly entries: readonly LogEntry[];
}

/** Entries are being received; the first time, and again after every break. What the server kept follows. */
export interface LogConnected {
  readonly kind: "connected";
  readonly again: boolean;
}

/** The connection broke; it is made again in so many milliseconds. */
export interface LogBroken {
  readonly kind: "broken";
  readonly why: Error;
  readonly waitMs: number;
}

/** After a break, before `connected`: entries may be missing between what came before and what follows. */
export interface LogGap {
  readonly kind: "gap";
  /** The time of the last entry before, if there was one. */
  readonly after: string | undefined;
  /** The time of the first entry that follows, if the server kept one. */
  readonly before: string | undefined;
}

/** So many entries were dropped here, because somebody reads too slowly. */
export interface LogMissed {
  readonly kind: "missed";
  readonly count: number;
  /** The server: an entry that says so follows. The client: the loop left `buffer` entries waiting. */
  readonly by: "server" | "client";
}

/** The memory, which welcomes every connection, and the live stream as one. */
export async function* joined(
  steps: AsyncGenerator<Step<readonly LogEntry[]>, void>,
): AsyncGenerator<LogEvent, void> {
  const join = new LogJoin();
  let farewell: string | undefined;
  try {
    for await (const step of steps) {
      if (step.kind === "connected") {
        farewell = undefined;
        const { again, welcome: kept } = step;
        const after = join.last;
        const { fresh, whole } = join.takeKept(kept);
        if (again && !whole) yield { kind: "gap", after, before: fresh[0]?.timestamp };
        yield { kind: "connected", again };
        if (fresh.length > 0) yield { kind: "entries", entries: fresh };
      } else if (step.kind === "events") {
        const entries = step.events as LogEntry[];
        farewell = entries.findLast((entry) => eventOf(entry)?.event === "log.ended")?.message;
        const fresh = entries.filter((entry) => isNotice(entry) || join.takeSent(entry));
        if (fresh.length > 0) yield { kind: "entries", entries: fresh };
      } else yield step;
    }
  } catch (error) {
    // Asked again, the server refuses without saying why the stream ended.
    if (farewell === undefined || !(error instanceof PermissionDenied)) throw error;
    throw new PermissionDenied(farewell, error.code, error.kind, error.data);
  }
}

/** Whether an entry is about this stream alone: it is in no memory, and is dated later than the entry that it stands before. */
function isNotice(entry: LogEntry): boolean {
  const code = eventOf(entry)?.event;
  return code === "log.dropped" || code === "log.ended";
}
