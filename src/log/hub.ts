// Every line that the server logs goes through the hub in this file. A Logger of one target makes an entry (entry.ts,
// which also writes times and `key=value` texts) in the current span of work (span.ts), and the hub passes it to each
// sink whose filter (filter.ts) lets it through. events.ts is the table of all event codes. sinks.ts opens and replaces
// the server's own sinks: terminal.ts, files on top of log-file.ts, and ring.ts for the newest entries in
// memory. tail.ts feeds one subscriber of the live stream through a bounded mailbox.

import { type Clock, systemClock } from "../base/clock.ts";
import {
  clip,
  clipFields,
  detail,
  type Fields,
  formatTimestamp,
  type Level,
  type LogEntry,
  type LogRecord,
} from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import { type Filter, shownTarget } from "./filter.ts";
import { currentSpans, isQuiet } from "./span.ts";

/** Sink receives entries. `write` must return at once, and must neither throw nor log. */
export interface Sink {
  readonly filter: Filter;
  /** True if it also gets the entries of the other processes of the server. */
  readonly takesRelayed?: boolean;
  write(entry: LogEntry): void;
}

interface LogCounts {
  /** Entries that at least one sink received. */
  readonly entries: Record<Level, number>;
  /** Live streams that are open. */
  tails: number;
  /** Entries that live streams lost, because their reader was too slow. */
  droppedByTails: number;
}

/** Recipient is a sink with the most detailed level that its filter lets through from one target. */
interface Recipient {
  readonly sink: Sink;
  readonly detail: number;
}

/**
 * LogHub passes each log event to every attached sink whose filter lets it through. The entry is built once, and not at all if no
 * sink wants it. `emit` is synchronous: when it returns, every sink has the entry. The hub itself keeps and drops nothing; each
 * sink has its own bound and reports what it drops (`log.dropped`), so a slow reader delays neither the caller nor other readers.
 */
export class LogHub {
  /** What was logged since the start, for metrics. */
  readonly counts: LogCounts = {
    entries: { TRACE: 0, DEBUG: 0, INFO: 0, WARN: 0, ERROR: 0 },
    tails: 0,
    droppedByTails: 0,
  };
  #sinks: readonly Sink[] = [];
  readonly #loggers = new Map<string, Logger>();
  readonly #common: Fields | undefined;
  readonly #clock: Clock;

  /** `common` are fields of every entry. */
  constructor(common?: Fields, clock: Clock = systemClock) {
    this.#common = common;
    this.#clock = clock;
  }

  /** Attaches a sink: it gets every event from now until the returned function is called. */
  attach(sink: Sink): () => void {
    this.#setSinks([...this.#sinks, sink]);
    return () => this.#setSinks(this.#sinks.filter((other) => other !== sink));
  }

  logger(target: string): Logger {
    let logger = this.#loggers.get(target);
    if (logger === undefined) {
      logger = new Logger(this, target);
      this.#loggers.set(target, logger);
      logger.recipients = this.#recipientsOf(target);
    }
    return logger;
  }

  emit(record: LogRecord, recipients: readonly Recipient[]): void {
    if (isQuiet()) return;
    let entry: LogEntry | undefined;
    for (const recipient of recipients) {
      if (detail[record.level] > recipient.detail) continue;
      entry ??= this.#newEntry(record);
      recipient.sink.write(entry);
    }
    if (entry !== undefined) this.counts.entries[entry.level] += 1;
  }

  /** Writes to every sink, ignoring its filter. */
  emitUnfiltered(record: LogRecord): void {
    const entry = this.#newEntry(record);
    this.counts.entries[entry.level] += 1;
    for (const sink of this.#sinks) sink.write(entry);
  }

  /** Writes an entry of another process of the server to the sinks that take such entries. */
  relay(entry: LogEntry): void {
    for (const sink of this.#sinks) if (sink.takesRelayed && sink.filter.passes(entry)) sink.write(entry);
  }

  #setSinks(sinks: readonly Sink[]): void {
    this.#sinks = sinks;
    for (const logger of this.#loggers.values()) logger.recipients = this.#recipientsOf(logger.target);
  }

  #newEntry({ target, level, message, fields }: LogRecord): LogEntry {
    return {
      timestamp: formatTimestamp(new Date(this.#clock.now())),
      level,
      target: shownTarget(target),
      message: clip(message),
      fields: clipFields(this.#common === undefined ? fields : { ...fields, ...this.#common }),
      spans: currentSpans(),
    };
  }

  /** Filters are asked here, when a sink comes or goes, and not for each event. */
  #recipientsOf(target: string): readonly Recipient[] {
    return this.#sinks
      .map((sink) => ({ sink, detail: sink.filter.detailFor(target) }))
      .filter((recipient) => recipient.detail > 0);
  }
}

/** Fields of an entry that is not an event of the table: `event` is reserved for the codes there. */
type PlainFields = Fields & { readonly event?: never };

const none: PlainFields = {};

/** Logger logs under one target. An event that no sink wants costs one comparison. */
export class Logger {
  readonly #hub: LogHub;
  /** The most detailed level that any sink wants from this target. */
  #wanted = 0;
  #recipients: readonly Recipient[] = [];

  constructor(
    hub: LogHub,
    readonly target: string,
  ) {
    this.#hub = hub;
  }

  /** The sinks that want something from this target; maintained by the hub. */
  set recipients(recipients: readonly Recipient[]) {
    this.#recipients = recipients;
    this.#wanted = recipients.reduce((most, recipient) => Math.max(most, recipient.detail), 0);
  }

  /** Tells whether any sink wants this level. Ask before collecting fields that are expensive. */
  wants(level: Level): boolean {
    return detail[level] <= this.#wanted;
  }

  /** Logs an event of the table, at the level that the table gives it. */
  event<C extends EventCode>(code: C, message: string, fields: EventFields<C>): void {
    const { level } = events[code];
    if (this.wants(level)) this.#emit(level, message, { event: code, ...fields });
  }

  /** Logs an event to every sink, ignoring the filters: for problems with the filters themselves, which they could hide. */
  eventUnfiltered<C extends EventCode>(code: C, message: string, fields: EventFields<C>): void {
    const { level } = events[code];
    this.#hub.emitUnfiltered({ target: this.target, level, message, fields: { event: code, ...fields } });
  }

  error(message: string, fields = none): void {
    if (this.#wanted >= detail.ERROR) this.#emit("ERROR", message, fields);
  }
  warn(message: string, fields = none): void {
    if (this.#wanted >= detail.WARN) this.#emit("WARN", message, fields);
  }
  info(message: string, fields = none): void {
    if (this.#wanted >= detail.INFO) this.#emit("INFO", message, fields);
  }
  debug(message: string, fields = none): void {
    if (this.#wanted >= detail.DEBUG) this.#emit("DEBUG", message, fields);
  }
  trace(message: string, fields = none): void {
    if (this.#wanted >= detail.TRACE) this.#emit("TRACE", message, fields);
  }

  #emit(level: Level, message: string, fields: Fields): void {
    this.#hub.emit({ target: this.target, level, message, fields }, this.#recipients);
  }
}
