export type Row = Readonly<Record<string, unknown>>;

/** What is drawn of a long value; the rest is in the viewer. */
const shownLength = 200;

/** The whole value as text. */
export function toText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A value as it stands in the grid: one line, cut where it is long. */
export function toCell(value: unknown): string {
  const text = toText(value);
  const line = text.slice(0, shownLength).replace(/\r?\n|\r/g, "⏎");
  return text.length > shownLength ? `${line}…` : line;
}

/** For the viewer: JSON, also where it was kept as text, over several lines. */
export function toReadable(value: unknown): string {
  if (typeof value === "object" && value !== null) return JSON.stringify(value, null, 2);
  // Numbers with more digits than a double holds would be changed on the way.
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || /\d{16}/.test(value)) return toText(value);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    // It only begins like JSON.
    return value;
  }
}

/** JSON's numbers are doubles here: beyond 2^53 whole ones lose digits on their way into the page. */
export function isRounded(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** How wide each column is, in characters, judged by its name and its first values. */
export function widths(columns: readonly string[], rows: readonly Row[]): readonly number[] {
  const sample = rows.slice(0, 200);
  return columns.map((column) => {
    const lengths = sample.map((row) => toCell(row[column]).length);
    return Math.min(40, Math.max(5, column.length, ...lengths) + 3);
  });
}
