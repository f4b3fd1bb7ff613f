import { closeSync, constants, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../base/fault.ts";
import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";
import { tailNotice } from "./tail.ts";

/**
 * JsonFileSink appends one JSON object per line to a file. Entries of one turn of the event loop are written together. If the file
 * cannot be written, entries are dropped and counted, and a `log.dropped` entry comes before the next one that is written. Every
 * line in the file is complete.
 */
export class JsonFileSink implements Sink {
  #file: number;
  #pending = "";
  #failing = false;
  /** The unwritten end of a line that was written in part. */
  #torn: Buffer = Buffer.alloc(0);
  /** Entries dropped since the last one that was written. */
  #dropped = 0;

  constructor(
    readonly path: string,
    readonly filter: Filter,
  ) {
    this.#file = openForAppend(path);
  }

  write(entry: LogEntry): void {
    if (this.#pending === "") setImmediate(() => this.flush());
    this.#pending += `${JSON.stringify(entry)}\n`;
  }

  flush(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text === "") return;
    const notice = this.#dropped === 0 ? "" : `${JSON.stringify(droppedNotice(this.#dropped))}\n`;
    const bytes = Buffer.concat([this.#torn, Buffer.from(notice + text)]);
    const { written, error } = append(this.#file, bytes);
    // The rest of a line that was written in part is written first next time, so that every line is complete.
    const isBegun = written === 0 ? this.#torn.length > 0 : bytes[written - 1] !== newline;
    const lineEnd = isBegun ? bytes.indexOf(newline, written) + 1 : written;
    const noticeWritten = lineEnd > this.#torn.length;
    const lost = countLines(bytes.subarray(lineEnd));
    this.#dropped = noticeWritten || notice === "" ? lost : this.#dropped + lost - 1;
    this.#torn = bytes.subarray(written, lineEnd);
    // A full disk must not stop the server, and a sink must not log: report it once on the terminal.
    if (error !== undefined && !this.#failing)
      process.stderr.write(`The log file ${this.path} cannot be written: ${messageOf(error)}\n`);
    this.#failing = error !== undefined;
  }

  /** Continues in a new file after the old one was moved away (logrotate). */
  reopen(): void {
    const file = openForAppend(this.path);
    this.close();
    this.#torn = Buffer.alloc(0);
    this.#file = file;
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }
}

/** As "a", and non-blocking: opening a FIFO, or writing to one that is full, would stop the server until it is read. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
const newline = 0x0a;

function append(file: number, bytes: Buffer): { written: number; error?: unknown } {
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(file, bytes, written);
    return { written };
  } catch (error) {
    return { written, error };
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
}

function droppedNotice(dropped: number): LogEntry {
  return tailNotice("log.dropped", `${dropped} log entries were dropped: the log file could not be written`, {
    dropped,
  });
}

function openForAppend(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, appendFlags, 0o640);
  } catch (error) {
    throw new Fault("IoError", `the log file ${path} cannot be opened: ${messageOf(error)}`, { path });
  }
}
