/** Row of the column heads in a position. */
export const headRow = -1;

/** Position of a cell. Row and column start at 0; the heads are in `headRow`. */
export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

interface GridSize {
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
