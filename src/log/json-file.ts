import { messageOf } from "../base/fault.ts";
import { jsonLine } from "../base/json.ts";
import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";
import { LogFile } from "./log-file.ts";
import { tailNotice } from "./tail.ts";

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
