import { type Row, toText } from "./cell.ts";

const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i;

/** Text that a spreadsheet would run when it opens the file. */
export function isFormula(value: unknown): value is string {
  return typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !number.test(value);
}

/**
 * RFC 4180, with a line of names first. NULL is an empty field, an empty text is `""`. A formula gets an apostrophe in front, so
 * that opening the file in a spreadsheet runs nothing; who needs the very bytes takes JSON.
 */
export function toCsv(columns: readonly string[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((column) => field(row[column])));
  return [columns.map(field), ...lines].map((fields) => `${fields.join(",")}\r\n`).join("");
}

export function countFormulas(columns: readonly string[], rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + columns.filter((column) => isFormula(row[column])).length, 0);
}

export function toJson(rows: readonly Row[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = isFormula(value) ? `'${value}` : toText(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
