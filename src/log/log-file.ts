import { closeSync, constants, fstatSync, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../base/fault.ts";

interface LogFileOptions {
  readonly path: string;
  /** The line that is written once lines were dropped; without it nothing in the file says so. */
  readonly notice?: (dropped: number) => string;
  /** Called once when the file cannot be written or opened again, and not again before it could. */
  readonly onFailed: (error: unknown) => void;
  /** Called when a line is written after others were dropped. */
  readonly onRestored?: (dropped: number) => void;
}

/**
 * LogFile appends lines to a file, in one write for each `flush`. If the file cannot be written, lines are dropped and counted.
 * Every line in the file is complete. Once the file was moved away (logrotate), the next `flush` begins a new one at its path; so
 * several processes can write to the same file.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #file: number;
  #pending = "";
  #failing = false;
  /** The unwritten end of a line that was written in part. */
  #torn: Buffer = Buffer.alloc(0);
  /** Lines dropped since the last one that was written. */
  #dropped = 0;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#file = openForAppend(options.path);
  }

  /** The number of characters that wait for `flush`. */
  get pendingChars(): number {
    return this.#pending.length;
  }

  /** Adds a line, which must end in a newline and contain no other. */
  add(line: string): void {
    this.#pending += line;
  }

  flush(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text === "") return;
    // The rest of a line belongs in the file that has its beginning.
    const moved = this.#torn.length === 0 ? this.#followPath() : undefined;
    const before = this.#dropped;
    const notice = before === 0 ? "" : (this.#options.notice?.(before) ?? "");
    const begun = this.#torn.length;
    const bytes = Buffer.concat([this.#torn, Buffer.from(notice + text)]);
    const { written, error } = append(this.#file, bytes);
    // The rest of a line that was written in part is written first next time, so that every line is complete.
    const isBegun = written === 0 ? begun > 0 : bytes[written - 1] !== newline;
    const lineEnd = isBegun ? bytes.indexOf(newline, written) + 1 : written;
    const isAnyWritten = lineEnd > begun;
    const lost = countLines(bytes.subarray(lineEnd));
    this.#dropped = isAnyWritten ? lost : before + lost - (notice === "" ? 0 : 1);
    this.#torn = bytes.subarray(written, lineEnd);
    this.#report(error ?? moved, isAnyWritten ? before : 0);
  }

  /** Writes what is pending and closes the file. */
  close(): void {
    this.flush();
    closeSync(this.#file);
  }

  /** Opens the present file of the path. If that fails, the old one stays in use, and the error is returned. */
  #followPath(): unknown {
    const { path } = this.#options;
    try {
      const [used, found] = [fstatSync(this.#file), statSync(path, { throwIfNoEntry: false })];
      if (found?.ino === used.ino && found.dev === used.dev) return undefined;
      const file = openForAppend(path);
      closeSync(this.#file);
      this.#file = file;
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #report(error: unknown, restored: number): void {
    if (restored > 0) this.#options.onRestored?.(restored);
    // A full disk must not stop the server: it is reported once.
    if (error !== undefined && !this.#failing) this.#options.onFailed(error);
    this.#failing = error !== undefined;
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

function openForAppend(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, appendFlags, 0o640);
  } catch (error) {
    throw new Fault("IoError", `the log file ${path} cannot be opened: ${messageOf(error)}`, { path });
  }
}
