import { exactJson } from "../../base/json.ts";
import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import type { Paint } from "./colour.ts";
import { minuteText, numberText, secondText, sizeText } from "./quantities.ts";

export interface Listing {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** printTable prints rows: aligned under a head on a terminal, elsewhere a line a row with tabs, for scripts. */
export async function printTable(ctx: Context, { head, rows }: Listing): Promise<void> {
  const plain = rows.map((row) => row.map(visible));
  if (!ctx.out.isTTY) return ctx.print(plain.map((row) => `${row.join("\t")}\n`).join(""));
  await ctx.print(alignedText([head, ...plain]));
}

/** alignedText writes rows in columns. Cells wider than `maxWidth` move those behind them. */
export function alignedText(
  rows: readonly (readonly string[])[],
  maxWidth = Number.POSITIVE_INFINITY,
): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.min(maxWidth, widthOf(rows.map((row) => row[at] ?? ""))),
  );
  const line = (row: readonly string[]) =>
    widths.map((width, at) => aligned(row[at] ?? "", width)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
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

export type Row = Readonly<Record<string, unknown>>;

interface TableStyle {
  readonly paint: Paint;
  /** Wider cells are cut and end with `…`. */
  readonly maxWidth?: number;
}

/** Formats rows under their column names, numbers aligned right. `cut` is the number of cells that were cut. */
export function tableText(
  names: readonly string[],
  rows: readonly Row[],
  { paint, maxWidth = Number.POSITIVE_INFINITY }: TableStyle,
): { readonly text: string; readonly cut: number } {
  let cut = 0;
  const cell = (value: unknown) => {
    const whole = visible(cellText(value));
    if (Bun.stringWidth(whole) <= maxWidth) return whole;
    cut += 1;
    return `${cutTo(whole, maxWidth - 1)}…`;
  };
  const columns = names.map((name) => {
    const head = visible(name);
    const cells = rows.map((row) => cell(row[name]));
    const values = rows.map((row) => row[name]).filter((value) => value != null);
    return {
      head,
      cells,
      width: widthOf([head, ...cells]),
      right:
        values.length > 0 && values.every((value) => typeof value === "number" || typeof value === "bigint"),
    };
  });
  const line = (parts: readonly string[]) => `${parts.join(" | ").trimEnd()}\n`;
  const head = line(columns.map(({ head, width, right }) => aligned(head, width, right)));
  const rule = `${columns.map(({ width }) => "-".repeat(width)).join("-+-")}\n`;
  const body = rows.map((row, at) =>
    line(
      columns.map(({ cells, width, right }, column) => {
        const text = aligned(cells[at] ?? "", width, right);
        return row[names[column] ?? ""] == null ? paint("dim", text) : text;
      }),
    ),
  );
  return { text: head + rule + body.join(""), cut };
}

/** Formats rows as CSV (RFC 4180). NULL is an empty field and an empty text is `""`, so that they differ. */
export function csvText(names: readonly string[], rows: readonly Row[], { head } = { head: true }): string {
  const field = (value: unknown) => {
    if (value == null) return "";
    const text = cellText(value);
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const record = (values: readonly unknown[]) => `${values.map(field).join(",")}\r\n`;
  if (names.length === 0) return "";
  return (head ? record(names) : "") + rows.map((row) => record(names.map((name) => row[name]))).join("");
}

function cellText(value: unknown): string {
  if (value == null) return "NULL";
  return typeof value === "string" ? value : exactJson(value);
}

/** The width of the widest text on a terminal. */
function widthOf(texts: readonly string[]): number {
  return texts.reduce((max, text) => Math.max(max, Bun.stringWidth(text)), 0);
}

/** Pads by the width on a terminal: some characters are two columns wide, some none. */
function aligned(text: string, width: number, right = false): string {
  const space = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return right ? space + text : text + space;
}

function cutTo(text: string, width: number): string {
  let result = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += Bun.stringWidth(segment);
    if (used > width) break;
    result += segment;
  }
  return result;
}
