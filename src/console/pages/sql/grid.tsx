import { useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useVirtualWindow } from "../../ui/virtual-rows.tsx";
import { type CellPosition, columnWidths, isRounded, type Row, stepTo, toCell } from "./cells.ts";

/** Row height in pixels, as in sql.css. */
const rowHeight = 28;

/** ARIA grid pattern: the table has the focus and names its active cell. */
const asGrid = (at: string | undefined) => ({ role: "grid", "aria-activedescendant": at }) as const;
const asSelected = { "aria-selected": true } as const;

export interface GridProps {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly active: CellPosition;
  readonly onActive: (position: CellPosition) => void;
  /** Called when the person wants to see a whole value. */
  readonly onOpen: (position: CellPosition) => void;
}

/** Rows of a result. Only those in view are in the DOM; the arrow keys move from cell to cell. */
export function Grid({ columns, rows, active, onActive, onOpen }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const { first, end, update } = useVirtualWindow(box, rows.length, rowHeight);
  const characters = useMemo(() => columnWidths(columns, rows), [columns, rows]);
  const cellId = ({ row, column }: CellPosition) => `${id}-${row}-${column}`;
  const movedByKey = useRef(false);
  useLayoutEffect(() => {
    if (!movedByKey.current || box.current === null) return;
    const cell = document.getElementById(cellId(active));
    // A distant cell is rendered after scrolling there, and then this effect runs again.
    if (cell === null) box.current.scrollTop = active.row * rowHeight;
    else cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    movedByKey.current = cell === null;
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const size = { rows: rows.length, columns: columns.length, page };
    const next = stepTo(event.key, event.ctrlKey || event.metaKey, active, size);
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    movedByKey.current = true;
    if (next === undefined) onOpen(active);
    else onActive(next);
  };
  const withPosition = (use: (position: CellPosition) => void) => (event: MouseEvent) => {
    const position = positionOf(event.target);
    if (position !== undefined) use(position);
  };
  const isDrawn = active.row >= first && active.row < end;
  const shown = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  return (
    <div ref={box} class="sql-grid" onScroll={update}>
      <table
        {...asGrid(isDrawn ? cellId(active) : undefined)}
        tabIndex={0}
        aria-label="Rows of the result"
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        style={{ width: `${characters.reduce((sum, width) => sum + width, 0)}ch` }}
        onKeyDown={onKeyDown}
        onClick={withPosition(onActive)}
        onDblClick={withPosition(onOpen)}
      >
        <colgroup>
          {columns.map((column, at) => (
            <col key={column} style={{ width: `${characters[at]}ch` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column} scope="col" title={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <RowSpacer rows={first} />
          {shown.map((row) => (
            <tr key={row} data-row={row} aria-rowindex={row + 2}>
              {columns.map((name, column) => (
                <td
                  key={name}
                  id={cellId({ row, column })}
                  class={kindOf(rows[row]?.[name])}
                  {...(row === active.row && column === active.column ? asSelected : {})}
                >
                  {isRounded(rows[row]?.[name]) && "≈ "}
                  {toCell(rows[row]?.[name])}
                </td>
              ))}
            </tr>
          ))}
          <RowSpacer rows={rows.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** Space of rows that are not rendered. */
function RowSpacer({ rows }: { readonly rows: number }) {
  return rows > 0 ? <tr style={{ height: `${rows * rowHeight}px` }} /> : null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" ? "number" : "text";
}

function positionOf(target: EventTarget | null): CellPosition | undefined {
  const cell = target instanceof Element ? target.closest("td") : null;
  const row = cell?.closest("tr")?.dataset.row;
  return cell === null || row === undefined ? undefined : { row: Number(row), column: cell.cellIndex };
}
