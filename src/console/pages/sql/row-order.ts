import { type Row, toText } from "./cells.ts";

/** Column that rows are sorted by. */
export interface SortOrder {
  readonly column: string;
  readonly direction: "ascending" | "descending";
}

/** Next of the three states of a column head: ascending, descending, as the database returned them. */
export function nextOrder(before: SortOrder | undefined, column: string): SortOrder | undefined {
  if (before?.column !== column) return { column, direction: "ascending" };
  return before.direction === "ascending" ? { column, direction: "descending" } : undefined;
}

/** Rows with `text` in at least one of their values, whatever its case. */
export function filterRows(rows: readonly Row[], text: string): readonly Row[] {
  if (text === "") return rows;
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
  return rows.filter((row) => Object.values(row).some((value) => pattern.test(toText(value))));
}

/** Rows in an order. Equal ones stay as they were, and NULL is last in both directions. */
export function sortRows(rows: readonly Row[], order: SortOrder | undefined): readonly Row[] {
  if (order === undefined) return rows;
  const sign = order.direction === "ascending" ? 1 : -1;
  const keys = sortKeys(rows.map((row) => row[order.column]));
  return keys
    .map((key, at) => ({ key, row: rows[at] as Row }))
    .sort((one, other) => compare(one.key, other.key, sign))
    .map(({ row }) => row);
}

type SortKey = number | string | null;

const number = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i;

/** PostgreSQL returns `numeric` as text, so a column of nothing but numbers in texts is sorted as numbers too. */
function sortKeys(values: readonly unknown[]): readonly SortKey[] {
  const isNumeric = values.every((value) => typeof value !== "string" || number.test(value));
  return values.map((value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    return isNumeric && typeof value === "string" ? Number(value) : toText(value);
  });
}

const texts = new Intl.Collator(undefined, { numeric: true });

/** In a column with both, as SQLite allows, numbers are before texts. */
function compare(one: SortKey, other: SortKey, sign: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  if (typeof one === "string" && typeof other === "string") return sign * texts.compare(one, other);
  return sign * (typeof one === "number" ? -1 : 1);
}
