import { Dropped, Mailbox } from "../base/mailbox.ts";
import { formatTimestamp, type LogEntry } from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import type { Filter } from "./filter.ts";
import type { LogHub } from "./hub.ts";

/** `tailCapacity` is how many entries wait for a slow reader before new ones are dropped. */
export const tailCapacity = 512;

interface Letter {
  readonly entry: LogEntry;
  /** The number of entries dropped just before this one. */
  readonly missed: number;
}

/**
 * `openTail` yields the entries that pass `filter` from now on, until `stop` fires. Entries arrive in order. If the reader is more
 * than `tailCapacity` entries behind, new ones are dropped, and their number is reported twice before the next entry: as `Dropped`
 * for programs, and as a `log.dropped` entry for people.
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

/** `tailNotice` makes an entry for one reader of the log alone. */
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
