export type Row = Readonly<Record<string, unknown>>;

/** Longest text of a grid cell; the viewer shows the whole value. */
const maxCellChars = 200;

/** Whole value as text. */
export function toText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Value as one line for the grid, truncated if it is long. */
export function toCell(value: unknown): string {
  const text = toText(value);
  const line = text.slice(0, maxCellChars).replace(/\r?\n|\r/g, "⏎");
  return text.length > maxCellChars ? `${line}…` : line;
}

/** Value for the viewer: JSON, even if stored as text, is indented. */
export function toReadable(value: unknown): string {
  if (typeof value === "object" && value !== null) return JSON.stringify(value, null, 2);
  // Parsing would change numbers with more digits than a double holds.
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || /\d{16}/.test(value)) return toText(value);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    // The text only starts like JSON.
    return value;
  }
}

/** Whether a number may have lost digits: numbers are doubles in the browser, exact only up to 2^53. */
export function isRounded(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Width of each column in characters, from its name and first values. */
export function columnWidths(columns: readonly string[], rows: readonly Row[]): readonly number[] {
  const sample = rows.slice(0, 200);
  return columns.map((column) => {
    const lengths = sample.map((row) => toCell(row[column]).length);
    // A name has the sign of the order beside it.
    return Math.min(40, Math.max(5, column.length + 2, ...lengths) + 3);
  });
}

/** Row of the column heads in a position. */
export const headRow = -1;

/** Position of a cell. Row and column start at 0; the heads are in `headRow`. */
export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

export interface GridSize {
  readonly rows: number;
  readonly columns: number;
  /** Count of rows in view. */
  readonly page: number;
}

type Step = (at: CellPosition, size: GridSize) => CellPosition;

/** Target of each key, as in other grids. Ctrl+Home and Ctrl+End go to the first and last cell. */
const steps: Readonly<Record<string, Step>> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  PageUp: ({ row, column }, { page }) => ({ row: row - page, column }),
  PageDown: ({ row, column }, { page }) => ({ row: row + page, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }, { columns }) => ({ row, column: columns - 1 }),
  "Ctrl+Home": () => ({ row: 0, column: 0 }),
  "Ctrl+End": (_, { rows, columns }) => ({ row: rows - 1, column: columns - 1 }),
};

/** Cell that a key moves to; undefined for other keys. Only the arrow key goes up to the heads. */
export function stepTo(
  key: string,
  ctrl: boolean,
  at: CellPosition,
  size: GridSize,
): CellPosition | undefined {
  const name = ctrl ? `Ctrl+${key}` : key;
  const step = Object.hasOwn(steps, name) ? steps[name] : undefined;
  if (step === undefined) return undefined;
  const { row, column } = step(at, size);
  const top = name === "ArrowUp" || at.row === headRow ? headRow : 0;
  return {
    row: Math.min(Math.max(row, top), size.rows - 1),
    column: Math.min(Math.max(column, 0), size.columns - 1),
  };
}

const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i;

/** Whether a spreadsheet would run the text as a formula when it opens the file. */
export function isFormula(value: unknown): value is string {
  return typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !number.test(value);
}

/**
 * CSV by RFC 4180 with a header line. NULL is an empty field, an empty text is `""`. Formulas get a leading apostrophe, so that
 * a spreadsheet runs nothing when it opens the file; JSON has the exact values.
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
