import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { tryLock } from "../base/local-fs/file-lock.ts";

/** Rotation says when a log file is put aside, and how many of the old ones are kept: `<path>.1` is the newest. */
export interface Rotation {
  /** The size that the file may have; 0 means that it is never put aside. */
  readonly maxBytes: number;
  readonly keep: number;
  /** True if other processes append to the same file: one of them puts it aside, and the others continue in the new one. */
  readonly isShared?: boolean;
}

export interface LogFileOptions extends Rotation {
  readonly path: string;
  /** The line that is written once lines were dropped; without it nothing in the file says so. */
  readonly notice?: (dropped: number) => string;
  /** Called once when the file cannot be written or put aside, and not again before it could. */
  readonly onFailed: (error: unknown) => void;
  /** Called when a line is written after others were dropped. */
  readonly onRestored?: (dropped: number) => void;
}

/**
 * LogFile appends lines to a file, in one write for each `flush` and file. If the file cannot be written, lines are dropped and
 * counted. Every line in the file is complete.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #file: number;
  /** The size of the file; undefined for what has none, such as a FIFO. */
  #bytes: number | undefined;
  #pending = "";
  #failing = false;
  /** The unwritten end of a line that was written in part. */
  #torn: Buffer = Buffer.alloc(0);
  /** Lines dropped since the last one that was written. */
  #dropped = 0;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#file = openForAppend(options.path);
    this.#bytes = sizeOf(this.#file);
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
    this.#flush({ mayRotate: true });
  }

  #flush({ mayRotate }: { readonly mayRotate: boolean }): void {
    const text = this.#pending;
    this.#pending = "";
    if (text === "") return;
    if (this.#options.isShared && this.#torn.length === 0) this.followPath();
    const before = this.#dropped;
    const notice = before === 0 ? "" : (this.#options.notice?.(before) ?? "");
    const begun = this.#torn.length;
    const bytes = Buffer.concat([this.#torn, Buffer.from(notice + text)]);
    const { written, error } = this.#append(bytes, mayRotate);
    // The rest of a line that was written in part is written first next time, so that every line is complete.
    const isBegun = written === 0 ? begun > 0 : bytes[written - 1] !== newline;
    const lineEnd = isBegun ? bytes.indexOf(newline, written) + 1 : written;
    const isAnyWritten = lineEnd > begun;
    const lost = countLines(bytes.subarray(lineEnd));
    this.#dropped = isAnyWritten ? lost : before + lost - (notice === "" ? 0 : 1);
    this.#torn = bytes.subarray(written, lineEnd);
    this.#report(error, isAnyWritten ? before : 0);
  }

  /** Writes lines, in one write for each file that they fill. */
  #append(bytes: Buffer, mayRotate: boolean): { written: number; error?: unknown } {
    let written = 0;
    let rotationError: unknown;
    while (written < bytes.length) {
      let end = mayRotate ? this.#endOfRoom(bytes, written) : bytes.length;
      if (end === written && this.#mayRotateAt(written)) {
        rotationError = this.#rotate() ?? rotationError;
        end = this.#endOfRoom(bytes, written);
      }
      // A line that is longer than a file may be is in a file of its own.
      if (end === written) end = bytes.indexOf(newline, written) + 1;
      const appended = append(this.#file, bytes.subarray(written, end));
      written += appended.written;
      if (this.#bytes !== undefined) this.#bytes += appended.written;
      if (appended.error !== undefined) return { written, error: appended.error };
    }
    return { written, error: rotationError };
  }

  /** Returns the end of the lines from `from` on that fit into the file. */
  #endOfRoom(bytes: Buffer, from: number): number {
    const { maxBytes } = this.#options;
    if (maxBytes === 0 || this.#bytes === undefined) return bytes.length;
    const end = from + Math.max(0, maxBytes - this.#bytes);
    if (end >= bytes.length) return bytes.length;
    return Math.max(from, end === 0 ? 0 : bytes.lastIndexOf(newline, end - 1) + 1);
  }

  /** True if the file has content and ends with a whole line, with `written` bytes of this flush in it. */
  #mayRotateAt(written: number): boolean {
    return this.#bytes !== 0 && (written > 0 || this.#torn.length === 0);
  }

  /** Continues in a new file after the old one was moved away (logrotate). */
  reopen(): void {
    const file = openForAppend(this.#options.path);
    this.#flush({ mayRotate: false });
    closeSync(this.#file);
    this.#use(file);
  }

  /**
   * Continues in the present file of the path: another `LogFile` of this path, which is closed now or belongs to another process,
   * may have written to it or put it aside. If it cannot be opened again, the old one stays in use.
   */
  followPath(): void {
    try {
      if (this.#isInPlace()) this.#bytes = sizeOf(this.#file);
      else this.reopen();
    } catch (error) {
      this.#report(error, 0);
    }
  }

  #isInPlace(): boolean {
    const [used, found] = [fstatSync(this.#file), statSync(this.#options.path, { throwIfNoEntry: false })];
    return found?.ino === used.ino && found.dev === used.dev;
  }

  /** Writes what is pending and closes the file. Another `LogFile` that has opened it already must call `followPath` afterwards. */
  close(): void {
    this.#flush({ mayRotate: true });
    closeSync(this.#file);
  }

  #use(file: number): void {
    this.#torn = Buffer.alloc(0);
    this.#file = file;
    this.#bytes = sizeOf(file);
  }

  #report(error: unknown, restored: number): void {
    if (restored > 0) this.#options.onRestored?.(restored);
    // A full disk must not stop the server: it is reported once.
    if (error !== undefined && !this.#failing) this.#options.onFailed(error);
    this.#failing = error !== undefined;
  }

  /** Puts the file aside. If that fails, the file grows on; it is tried again after another `maxBytes`. */
  #rotate(): unknown {
    const { path, keep, isShared } = this.#options;
    try {
      // Another process is putting it aside. The lock is on the file itself and ends when it is closed.
      if (isShared && !tryLock(this.#file)) return undefined;
      if (!isShared || this.#isInPlace()) shiftOld(path, keep);
      const file = openForAppend(path);
      closeSync(this.#file);
      this.#use(file);
      return undefined;
    } catch (error) {
      this.#bytes = 0;
      return error;
    }
  }
}

/** Renames `path` to `path.1`, `path.1` to `path.2`, and so on; what would be beyond `keep` is removed. */
function shiftOld(path: string, keep: number): void {
  if (keep === 0) rmSync(path, { force: true });
  for (let at = keep - 1; at >= 0; at--) {
    try {
      renameSync(at === 0 ? path : `${path}.${at}`, `${path}.${at + 1}`);
    } catch (error) {
      // There may be fewer old ones yet.
      if (codeOf(error) !== "ENOENT") throw error;
    }
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

function sizeOf(file: number): number | undefined {
  const stats = fstatSync(file);
  return stats.isFile() ? stats.size : undefined;
}

function openForAppend(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, appendFlags, 0o640);
  } catch (error) {
    throw new Fault("IoError", `the log file ${path} cannot be opened: ${messageOf(error)}`, { path });
  }
}
