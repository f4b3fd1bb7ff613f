import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";

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
