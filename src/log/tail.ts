import { Dropped, Mailbox } from "../base/mailbox.ts";
import { formatTimestamp, type LogEntry } from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import type { Filter } from "./filter.ts";
import type { LogHub } from "./hub.ts";

/** How many entries wait for a slow reader before new ones are dropped. */
export const tailCapacity = 512;

interface Letter {
  readonly entry: LogEntry;
  /** How many were dropped just before this one. */
  readonly missed: number;
}

/**
 * The live entries from now on, until `stop` fires. Where entries were dropped because the reader was too slow, their count
 * comes twice: as data, and as an entry for people.
 */
export function openTail(hub: LogHub, filter: Filter, stop: AbortSignal): AsyncIterable<LogEntry | Dropped> {
  const mailbox = new Mailbox<Letter>(tailCapacity);
  let missed = 0;
  const detach = hub.attach({
    filter,
    write(entry) {
      if (mailbox.offer({ entry, missed })) missed = 0;
      else missed += 1;
    },
  });
  stop.addEventListener("abort", () => {
    detach();
    mailbox.close();
  });
  return read(mailbox);
}

async function* read(mailbox: Mailbox<Letter>): AsyncGenerator<LogEntry | Dropped, void, undefined> {
  for await (const { entry, missed } of mailbox) {
    if (missed > 0) {
      yield new Dropped(missed);
      yield missedEntry(missed);
    }
    yield entry;
  }
}

function missedEntry(missed: number): LogEntry {
  return tailNotice("log.dropped", `${missed} log events were dropped: this subscriber reads too slowly`, {
    dropped: missed,
  });
}

/** An entry about one reader of the log, for that reader alone. */
export function tailNotice<C extends EventCode>(code: C, message: string, fields: EventFields<C>): LogEntry {
  return {
    timestamp: formatTimestamp(new Date()),
    level: events[code].level,
    target: "server",
    message,
    fields: { event: code, ...fields },
    spans: [],
  };
}
