import { messageOf } from "../base/fault.ts";
import { jsonLine } from "../base/json.ts";
import { detail, type LogEntry } from "./entry.ts";
import { auditTarget, type Filter, parseFilter } from "./filter.ts";
import type { LogHub, Sink } from "./hub.ts";
import { LogFile } from "./log-file.ts";
import type { LogRing } from "./ring.ts";
import { tailNotice } from "./tail.ts";
import { type LogFormat, openTerminal, TerminalSink } from "./terminal.ts";

export interface SinkSettings {
  readonly terminal: { readonly filter: Filter; readonly format: LogFormat };
  readonly file: { readonly path: string; readonly filter: Filter } | undefined;
  readonly memory: { readonly capacity: number; readonly filter: Filter };
}

/** LogSinks are the server's own sinks (terminal, file, memory), which a reload replaces together. */
export class LogSinks {
  readonly #hub: LogHub;
  readonly #ring: LogRing;
  #detach: Array<() => void> = [];
  #file: JsonFileSink | undefined;
  readonly #relay: Relay | undefined;
  #format: LogFormat = "text";
  readonly #terminal = openTerminal(() => this.#format);

  /** `relay` gets what the memory keeps, for the memories of the server's other processes. */
  constructor(hub: LogHub, ring: LogRing, relay?: Relay) {
    this.#hub = hub;
    this.#ring = ring;
    this.#relay = relay;
  }

  /** Opens the new log file beside the present one. The caller must call exactly one of the two functions. */
  prepare({ terminal, file, memory }: SinkSettings): { commit(): void; discard(): void } {
    const next = file && new JsonFileSink(file.path, file.filter);
    return {
      commit: () => {
        this.#detachAll();
        this.#file = next;
        this.#ring.resize(memory.capacity, memory.filter);
        this.#format = terminal.format;
        const sinks = [
          new TerminalSink(terminal.filter, this.#terminal, terminal.format),
          this.#ring,
          ...(next === undefined ? [] : [next]),
          ...(this.#relay === undefined ? [] : relaySinks(memory.filter, this.#relay)),
        ];
        this.#detach = sinks.map((sink) => this.#hub.attach(sink));
      },
      discard: () => next?.close(),
    };
  }

  close(): void {
    this.#detachAll();
    this.#terminal.flush();
  }

  #detachAll(): void {
    for (const detach of this.#detach.splice(0)) detach();
    this.#file?.close();
    this.#file = undefined;
  }
}

/** Relay passes an entry on to the server's other processes. */
type Relay = (entry: LogEntry) => void;

/**
 * `relaySinks` are sinks that pass on what the memory of this process keeps, and every audit entry. So each process answers for
 * the whole server when it is asked for the log.
 */
function relaySinks(memory: Filter, relay: Relay): Sink[] {
  const sinks: Sink[] = [{ filter: memory, write: relay }];
  if (memory.detailFor(auditTarget) < detail.INFO)
    sinks.push({ filter: parseFilter(`${auditTarget}=info`), write: relay });
  return sinks;
}

/**
 * JsonFileSink appends one JSON object per line to a file. Entries of one turn of the event loop are written together. If entries were
 * dropped because the file could not be written, a `log.dropped` entry comes before the next one that is written.
 */
export class JsonFileSink implements Sink {
  readonly #file: LogFile;

  constructor(
    path: string,
    readonly filter: Filter,
  ) {
    this.#file = new LogFile({
      path,
      notice: (dropped) => jsonLine(droppedNotice(dropped)),
      // A sink must not log.
      onFailed: (error) =>
        process.stderr.write(`The log file ${path} cannot be written: ${messageOf(error)}\n`),
    });
  }

  write(entry: LogEntry): void {
    if (this.#file.pendingChars === 0) setImmediate(() => this.flush());
    this.#file.add(jsonLine(entry));
  }

  flush(): void {
    this.#file.flush();
  }

  close(): void {
    this.#file.close();
  }
}

function droppedNotice(dropped: number): LogEntry {
  return tailNotice("log.dropped", `${dropped} log entries were dropped: the log file could not be written`, {
    dropped,
  });
}
