import { jsonLine } from "../base/json.ts";
import { visible } from "../base/visible-text.ts";
import { formatPairs, type Level, type LogEntry } from "./entry.ts";
import { hiddenOnTerminal } from "./events.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";
import { tailNotice } from "./tail.ts";

/** LogFormat is the form of an entry on standard error: a line for people, or a JSON object. */
export type LogFormat = "text" | "json";

const colours: Readonly<Record<Level, string>> = {
  ERROR: "\x1b[31m",
  WARN: "\x1b[33m",
  INFO: "\x1b[32m",
  DEBUG: "\x1b[34m",
  TRACE: "\x1b[35m",
};
const dim = "\x1b[2m";
const plain = "\x1b[0m";

/**
 * `formatLine` writes an entry as one line for people. Clients, or the server that a command follows, choose the text, so characters that control a terminal or
 * are invisible are escaped.
 */
export function formatLine(entry: LogEntry, coloured: boolean): string {
  const paint = (code: string, text: string) => (coloured ? `${code}${text}${plain}` : text);
  const spans = entry.spans
    .map((span) => (span.fields === "" ? span.name : `${span.name}{${span.fields}}`))
    .join(":");
  const pairs = formatPairs(entry.fields, hiddenOnTerminal(entry.fields));
  return [
    paint(dim, visible(entry.timestamp)),
    paint(colours[entry.level] ?? dim, visible(entry.level).padStart(5)),
    paint(dim, `${visible(entry.target)}:`),
    ...(spans === "" ? [] : [paint(dim, `${visible(spans)}:`)]),
    visible(entry.message),
    ...(pairs === "" ? [] : [paint(dim, visible(pairs))]),
  ].join(" ");
}

/** `isColoured` tells whether standard error shows colours. FORCE_COLOR is set by a supervisor, which passes lines on to its terminal. */
export const isColoured = (): boolean =>
  (process.stderr.isTTY || process.env.FORCE_COLOR === "1") && process.env.NO_COLOR === undefined;

/** `openTerminal` opens the output for all sinks of this process: a reload replaces the sink, and waiting lines must survive it. */
export function openTerminal(format: () => LogFormat = () => "text"): TerminalOutput {
  return new TerminalOutput(process.stderr, (dropped) => {
    const message = `${dropped} log entries were dropped: standard error was not read`;
    return lineFor(tailNotice("log.dropped", message, { dropped }), format(), isColoured());
  });
}

function lineFor(entry: LogEntry, format: LogFormat, coloured: boolean): string {
  return format === "json" ? jsonLine(entry) : `${formatLine(entry, coloured)}\n`;
}

/** TerminalSink writes to standard error, because standard output is for the results of commands. */
export class TerminalSink implements Sink {
  readonly #output: TerminalOutput;
  readonly #coloured = isColoured();
  readonly #format: LogFormat;

  constructor(
    readonly filter: Filter,
    output: TerminalOutput = openTerminal(),
    format: LogFormat = "text",
  ) {
    this.#output = output;
    this.#format = format;
  }

  write(entry: LogEntry): void {
    this.#output.write(lineFor(entry, this.#format, this.#coloured));
  }
}

/** The number of characters that may wait for a reader of standard error that is too slow. */
const maxWaitingBytes = 1024 * 1024;

/** OutputStream is what TerminalOutput needs of `process.stderr`. */
interface OutputStream {
  write(text: string): boolean;
  once(event: "drain", listener: () => void): unknown;
}

/**
 * TerminalOutput writes lines to standard error, which may be a pipe that nobody reads: the runtime would keep every line in memory
 * for it. Once the stream reports back-pressure, lines wait here, up to `maxWaitingBytes`; further ones are dropped, counted, and
 * reported by `notice` when the stream drains.
 */
export class TerminalOutput {
  readonly #stream: OutputStream;
  /** The line that reports how many lines were dropped. */
  readonly #notice: (dropped: number) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #blocked = false;

  constructor(stream: OutputStream, notice: (dropped: number) => string) {
    this.#stream = stream;
    this.#notice = notice;
  }

  write(line: string): void {
    if (!this.#blocked) this.#send(line);
    else if (this.#waitingBytes + line.length > maxWaitingBytes) this.#dropped++;
    else {
      this.#waiting.push(line);
      this.#waitingBytes += line.length;
    }
  }

  /** Passes all waiting lines to the stream, also when the process ends. */
  flush(): void {
    const lines = this.#waiting.splice(0);
    this.#waitingBytes = 0;
    if (this.#dropped > 0) lines.push(this.#notice(this.#dropped));
    this.#dropped = 0;
    if (lines.length > 0) this.#send(lines.join(""));
  }

  #send(text: string): void {
    if (this.#stream.write(text) || this.#blocked) return;
    this.#blocked = true;
    this.#stream.once("drain", () => {
      this.#blocked = false;
      this.flush();
    });
  }
}
