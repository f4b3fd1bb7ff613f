import { codeOf } from "../../base/fault.ts";
import { exactJson } from "../../base/raw-json.ts";
import { visible } from "../../base/visible-text.ts";
import type { Paint } from "./colour.ts";
import { tableText } from "./table.ts";

/** PipeClosed says that the reader of standard output is gone, as after `| head`. The program ends, but has not failed. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

let watched = false;

/** Writes data to standard output and waits until it is written. */
export function print(text: string): Promise<void> {
  return text === "" ? Promise.resolve() : write(text);
}

/** Writes bytes to standard output as they are, and waits until they are written. */
export function printBytes(bytes: Uint8Array): Promise<void> {
  return write(bytes);
}

function write(data: string | Uint8Array): Promise<void> {
  if (!watched) {
    // The callback below gets the error too; without a listener it would end the process.
    process.stdout.on("error", () => {});
    watched = true;
  }
  return new Promise((resolve, reject) => {
    process.stdout.write(data, (error) => {
      if (error == null) resolve();
      else reject(codeOf(error) === "EPIPE" ? new PipeClosed("the pipe was closed") : error);
    });
  });
}

/** Writes a line for people to standard error. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Writes a line for people about one of several servers. Both texts may come from that server. */
export function sayAbout(name: string, line: string): void {
  say(`node-server: ${visible(name)}: ${visible(line)}`);
}

/** Runs `work` until Ctrl+C, SIGTERM or a closed pipe, which is how following a stream normally ends. */
export async function untilStopped(work: (stop: AbortController) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.on(name, end);
  try {
    await work(stop);
  } catch (error) {
    if (!stop.signal.aborted && !(error instanceof PipeClosed)) throw error;
  } finally {
    for (const name of signals) process.off(name, end);
  }
}

/** Formats a result for people: a text as it is, a list by lines, records as a table, everything else as indented JSON. */
export function readable(value: unknown, paint: Paint): string {
  if (typeof value === "string") return `${shown(value)}\n`;
  if (Array.isArray(value) && value.length > 0) {
    if (value.every((item) => typeof item === "string"))
      return value.map((item) => `${shown(item)}\n`).join("");
    if (value.every(isFlat))
      return tableText(Object.keys(value[0] ?? {}), value, { paint, maxWidth: 100 }).text;
  }
  return `${shown(exactJson(value, 2)).replace(/^( *)("(?:[^"\\]|\\.)*")(?=: )/gm, (_, space, name) => space + paint("cyan", name))}\n`;
}

/**
 * `isFlat` tells whether a value is a record that fits into a row: no nested values, and the same members as the first of the list.
 */
function isFlat(item: unknown, _: number, all: readonly unknown[]): item is Record<string, unknown> {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  const names = Object.keys(item);
  return (
    names.length > 0 &&
    names.join("\0") === Object.keys(all[0] as object).join("\0") &&
    Object.values(item).every((value) => typeof value !== "object" || value === null)
  );
}

/** Escapes control characters, except line ends and tabs. */
function shown(text: string): string {
  return text.replace(/[^\n\t]+/g, visible);
}
