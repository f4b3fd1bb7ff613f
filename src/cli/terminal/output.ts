import { exactJson } from "../../base/json.ts";
import { visible, visibleLines } from "../../base/visible-text.ts";
import { type Context, PipeClosed } from "../context.ts";
import type { Paint } from "./colour.ts";
import { tableText } from "./table.ts";

/** Writes a line for people about one of several servers. Both texts may come from that server. */
export function reportAbout(ctx: Context, name: string, line: string): void {
  ctx.say(`node-server: ${visible(name)}: ${visible(line)}`);
}

/** Runs `work` until Ctrl+C, SIGTERM or a closed pipe, which is how following a stream normally ends. */
export async function untilStopped(
  ctx: Context,
  work: (stop: AbortController) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const unhook = ctx.onSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => stop.abort());
  try {
    await work(stop);
  } catch (error) {
    if (!stop.signal.aborted && !(error instanceof PipeClosed)) throw error;
  } finally {
    unhook();
  }
}

/** Formats a result for people: a text as it is, a list by lines, records as a table, everything else as indented JSON. */
export function readable(value: unknown, paint: Paint): string {
  if (typeof value === "string") return `${visibleLines(value)}\n`;
  if (Array.isArray(value) && value.length > 0) {
    if (value.every((item) => typeof item === "string"))
      return value.map((item) => `${visibleLines(item)}\n`).join("");
    if (value.every(isFlat))
      return tableText(Object.keys(value[0] ?? {}), value, { paint, maxWidth: 100 }).text;
  }
  return `${visibleLines(exactJson(value, 2)).replace(/^( *)("(?:[^"\\]|\\.)*")(?=: )/gm, (_, space, name) => space + paint("cyan", name))}\n`;
}

/**
 * `isFlat` returns whether a value is a record that fits into a row: no nested values, and the same members as the first of the list.
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
