import type { Step } from "./connections.ts";
import { PermissionDenied } from "./errors.ts";
import { LogJoin } from "./log-join.ts";
import type { LogEntry } from "./methods.ts";
import { eventOf } from "./server-event.ts";

export interface FollowLogOptions {
  /** As `RUST_LOG`: `info`, `debug,db=trace`, `token`, `off`. */
  readonly log_filter: string;
  readonly signal?: AbortSignal | undefined;
  /** How many entries wait for the loop before newer ones are dropped. Default: 10,000. */
  readonly buffer?: number;
  /** After this silence the client checks that the server answers. Default: 30,000; 0 turns it off. */
  readonly heartbeatMs?: number;
}

export type LogEvent = LogEntries | LogConnected | LogBroken | LogGap | LogMissed;

/** One or more entries, oldest first: all that have arrived. */
export interface LogEntries {
  readonly kind: "entries";
  readonly entries: readonly LogEntry[];
}

/** The subscription has begun, for the first time or `again` after a break. The entries that the server kept follow. */
export interface LogConnected {
  readonly kind: "connected";
  readonly again: boolean;
}

/** The connection broke; it is made again in `waitMs`. */
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

/** Entries were dropped here, because they are read too slowly. */
export interface LogMissed {
  readonly kind: "missed";
  readonly count: number;
  /** `server`: an entry that says so follows. `client`: the loop left `buffer` entries waiting. */
  readonly by: "server" | "client";
}

/** Joins the server's log memory, read for every connection, with the live entries. */
export async function* joinLog(
  steps: AsyncGenerator<Step<readonly LogEntry[]>, void>,
): AsyncGenerator<LogEvent, void> {
  const join = new LogJoin();
  let endMessage: string | undefined;
  try {
    for await (const step of steps) {
      if (step.kind === "connected") {
        endMessage = undefined;
        const { again, result: memory } = step;
        const after = join.last;
        const { fresh, whole } = join.mergeMemory(memory);
        if (again && !whole) yield { kind: "gap", after, before: fresh[0]?.timestamp };
        yield { kind: "connected", again };
        if (fresh.length > 0) yield { kind: "entries", entries: fresh };
      } else if (step.kind === "events") {
        const entries = step.events as LogEntry[];
        endMessage = entries.findLast((entry) => eventOf(entry)?.event === "log.ended")?.message;
        const fresh = entries.filter((entry) => isNotice(entry) || join.mergeLive(entry));
        if (fresh.length > 0) yield { kind: "entries", entries: fresh };
      } else yield step;
    }
  } catch (error) {
    // Asked again, the server refuses without saying why the stream ended.
    if (endMessage === undefined || !(error instanceof PermissionDenied)) throw error;
    throw new PermissionDenied(endMessage, error.code, error.kind, error.data);
  }
}

/** Whether an entry is about this stream alone: it is not in the log's memory, and its time is later than that of the entries after it. */
function isNotice(entry: LogEntry): boolean {
  const code = eventOf(entry)?.event;
  return code === "log.dropped" || code === "log.ended";
}
