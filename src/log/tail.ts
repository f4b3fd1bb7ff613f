import { DropNotice, Mailbox } from "../base/mailbox.ts";
import { formatTimestamp, type LogEntry } from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import type { Filter } from "./filter.ts";
import type { LogHub } from "./hub.ts";

/** `tailCapacity` is how many entries wait for a slow reader before new ones are dropped. */
export const tailCapacity = 512;

/**
 * `openTail` yields the entries that pass `filter` from now on, until `stop` fires. Entries arrive in order. If the reader is more
 * than `tailCapacity` entries behind, new ones are dropped. Their number is reported before the next entry, or once the reader has
 * taken all that waited, and twice: as a `DropNotice` for programs, and as a `log.dropped` entry for people.
 */
export function openTail(hub: LogHub, filter: Filter, stop: AbortSignal): Mailbox<LogEntry | DropNotice> {
  let missed = 0;
  const offerWithNotice = (...entries: LogEntry[]) => {
    if (missed > 0) mailbox.offer(new DropNotice(missed), missedEntry(missed), ...entries);
    else if (entries.length > 0) mailbox.offer(...entries);
    missed = 0;
  };
  const mailbox = new Mailbox<LogEntry | DropNotice>(tailCapacity, offerWithNotice);
  const write = (entry: LogEntry) => {
    if (mailbox.isFull) {
      missed += 1;
      hub.counts.droppedByTails += 1;
      return;
    }
    offerWithNotice(entry);
  };
  const detach = hub.attach({ filter, write, takesRelayed: true });
  hub.counts.tails += 1;
  stop.addEventListener("abort", () => {
    hub.counts.tails -= 1;
    detach();
    mailbox.close();
  });
  return mailbox;
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
