import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import { minuteText, numberText, secondText, sizeText } from "./quantities.ts";

/** Formats rows as columns: aligned under a head on a terminal, elsewhere a line a row with tabs, for scripts. */
export function columns(
  { out }: Context,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const plain = rows.map((row) => row.map(visible));
  if (!out.isTTY) return plain.map((row) => `${row.join("\t")}\n`).join("");
  const widths = head.map((cell, at) => Math.max(cell.length, ...plain.map((row) => (row[at] ?? "").length)));
  const line = (row: readonly string[]) =>
    `${widths
      .map((width, at) => (row[at] ?? "").padEnd(width))
      .join("  ")
      .trimEnd()}\n`;
  return line(head) + plain.map(line).join("");
}

/** `sizeCell` returns a number of bytes: in units for people, plain for programs. */
export function sizeCell({ out }: Context, bytes: number): string {
  return out.isTTY ? sizeText(bytes) : String(bytes);
}

/** `countCell` returns a number: with commas for people, plain for programs. */
export function countCell({ out }: Context, count: number): string {
  return out.isTTY ? numberText(count) : String(count);
}

/** `timeCell` returns a time in UTC, to the minute for people, as RFC 3339 for programs. */
export function timeCell({ out }: Context, at: number): string {
  return out.isTTY ? `${minuteText(at)}Z` : secondText(at);
}
