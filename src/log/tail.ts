import { Dropped, type EventQueue, itemsOf, Mailbox } from "../base/mailbox.ts";
import { formatTimestamp, type LogEntry } from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import type { Filter } from "./filter.ts";
import type { LogHub, Sink } from "./hub.ts";

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
export function openTail(hub: LogHub, filter: Filter, stop: AbortSignal): EventQueue<LogEntry | Dropped> {
  const tail = new Tail(filter);
  const detach = hub.attach(tail);
  stop.addEventListener("abort", () => {
    detach();
    tail.close();
  });
  return tail;
}

class Tail implements Sink, EventQueue<LogEntry | Dropped> {
  readonly #mailbox = new Mailbox<Letter>(tailCapacity);
  /** What comes after a `Dropped` that was taken. */
  #next: LogEntry[] = [];
  #missed = 0;

  constructor(readonly filter: Filter) {}

  write(entry: LogEntry): void {
    if (this.#mailbox.offer({ entry, missed: this.#missed })) this.#missed = 0;
    else this.#missed += 1;
  }

  get isClosed(): boolean {
    return this.#mailbox.isClosed;
  }

  take(): LogEntry | Dropped | undefined {
    if (this.#next.length > 0) return this.#next.shift();
    const letter = this.#mailbox.take();
    if (letter === undefined || letter.missed === 0) return letter?.entry;
    this.#next = [missedEntry(letter.missed), letter.entry];
    return new Dropped(letter.missed);
  }

  arrival(): Promise<void> {
    return this.#next.length > 0 ? Promise.resolve() : this.#mailbox.arrival();
  }

  close(): void {
    this.#mailbox.close();
    this.#next = [];
  }

  [Symbol.asyncIterator](): AsyncGenerator<LogEntry | Dropped, void, undefined> {
    return itemsOf(this);
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
