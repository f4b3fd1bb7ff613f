/** Both count from 0. */
export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

export interface GridSize {
  readonly rows: number;
  readonly columns: number;
  /** Rows in view. */
  readonly page: number;
}

type Step = (at: CellPlace, size: GridSize) => CellPlace;

/** As in every grid; with Ctrl, Home and End go to the first and the last cell of all. */
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

/** Where a key leads from a cell; undefined for keys that lead nowhere. */
export function stepTo(key: string, ctrl: boolean, at: CellPlace, size: GridSize): CellPlace | undefined {
  const name = ctrl ? `Ctrl+${key}` : key;
  const step = Object.hasOwn(steps, name) ? steps[name] : undefined;
  if (step === undefined) return undefined;
  const { row, column } = step(at, size);
  return {
    row: Math.min(Math.max(row, 0), size.rows - 1),
    column: Math.min(Math.max(column, 0), size.columns - 1),
  };
}
