import {
  clip,
  clipFields,
  detail,
  type Fields,
  formatTimestamp,
  type Level,
  type LogEntry,
} from "./entry.ts";
import { type EventCode, type EventFields, events } from "./events.ts";
import { type Filter, shownTarget } from "./filter.ts";
import { currentSpans, isQuiet } from "./span.ts";

/** Where entries go. `write` must neither throw nor log. */
export interface Sink {
  readonly filter: Filter;
  write(entry: LogEntry): void;
}

/** One emit for the whole server: asks each sink's filter, builds the entry once, hands it on. */
export class LogHub {
  #sinks: readonly Sink[] = [];
  readonly #loggers = new Map<string, Logger>();

  /** The sink hears every event from now until the returned function is called. */
  attach(sink: Sink): () => void {
    this.#setSinks([...this.#sinks, sink]);
    return () => this.#setSinks(this.#sinks.filter((other) => other !== sink));
  }

  logger(target: string): Logger {
    let logger = this.#loggers.get(target);
    if (logger === undefined) {
      logger = new Logger(this, target);
      this.#loggers.set(target, logger);
      logger.wanted = this.#wanted(target);
    }
    return logger;
  }

  emit(target: string, level: Level, message: string, fields: Fields): void {
    if (isQuiet()) return;
    let entry: LogEntry | undefined;
    for (const sink of this.#sinks) {
      if (detail[level] > sink.filter.detailFor(target)) continue;
      entry ??= newEntry(target, level, message, fields);
      sink.write(entry);
    }
  }

  /** Writes to every sink, past its filter. */
  emitUnfiltered(target: string, level: Level, message: string, fields: Fields): void {
    const entry = newEntry(target, level, message, fields);
    for (const sink of this.#sinks) sink.write(entry);
  }

  #setSinks(sinks: readonly Sink[]): void {
    this.#sinks = sinks;
    for (const logger of this.#loggers.values()) logger.wanted = this.#wanted(logger.target);
  }

  #wanted(target: string): number {
    return Math.max(0, ...this.#sinks.map((sink) => sink.filter.detailFor(target)));
  }
}

function newEntry(target: string, level: Level, message: string, fields: Fields): LogEntry {
  return {
    timestamp: formatTimestamp(new Date()),
    level,
    target: shownTarget(target),
    message: clip(message),
    fields: clipFields(fields),
    spans: currentSpans(),
  };
}

/** Fields of an entry that is no event: `event` is left to the codes of the table. */
type PlainFields = Fields & { readonly event?: never };

const none: PlainFields = {};

/** The voice of one target. An event that no sink wants costs one comparison. */
export class Logger {
  readonly #hub: LogHub;
  /** The most detailed level any sink wants from this target; kept by the hub. */
  wanted = 0;

  constructor(
    hub: LogHub,
    readonly target: string,
  ) {
    this.#hub = hub;
  }

  /** For events whose fields are dear to collect. */
  wants(level: Level): boolean {
    return detail[level] <= this.wanted;
  }

  /** Logs an event of the server's own life, at the level that the table gives it. */
  event<C extends EventCode>(code: C, message: string, fields: EventFields<C>): void {
    const { level } = events[code];
    if (this.wants(level)) this.#hub.emit(this.target, level, message, { event: code, ...fields });
  }

  /** Logs an event past every filter: for what is wrong with the filters themselves, which they would hide. */
  eventUnfiltered<C extends EventCode>(code: C, message: string, fields: EventFields<C>): void {
    this.#hub.emitUnfiltered(this.target, events[code].level, message, { event: code, ...fields });
  }

  error(message: string, fields = none): void {
    if (this.wanted >= detail.ERROR) this.#hub.emit(this.target, "ERROR", message, fields);
  }
  warn(message: string, fields = none): void {
    if (this.wanted >= detail.WARN) this.#hub.emit(this.target, "WARN", message, fields);
  }
  info(message: string, fields = none): void {
    if (this.wanted >= detail.INFO) this.#hub.emit(this.target, "INFO", message, fields);
  }
  debug(message: string, fields = none): void {
    if (this.wanted >= detail.DEBUG) this.#hub.emit(this.target, "DEBUG", message, fields);
  }
  trace(message: string, fields = none): void {
    if (this.wanted >= detail.TRACE) this.#hub.emit(this.target, "TRACE", message, fields);
  }
}
