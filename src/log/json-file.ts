import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../base/fault.ts";
import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** One JSON object a line, appended. Lines of one turn of the event loop are written together. */
export class JsonFileSink implements Sink {
  #file: number;
  #pending = "";
  #failing = false;

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
    try {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
      this.#failing = false;
    } catch (error) {
      // A full disk must not stop the server, and a sink may not log: say it once on the terminal.
      if (!this.#failing)
        process.stderr.write(`The log file ${this.path} cannot be written: ${messageOf(error)}\n`);
      this.#failing = true;
    }
  }

  /** Goes on in a new file after the old one was moved away (logrotate). */
  reopen(): void {
    const file = openForAppend(this.path);
    this.close();
    this.#file = file;
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }
}

function openForAppend(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, "a", 0o640);
  } catch (error) {
    throw new Fault("IoError", `the log file ${path} cannot be opened: ${messageOf(error)}`, { path });
  }
}
