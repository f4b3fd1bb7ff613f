import { useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useVirtualWindow } from "../../ui/virtual-rows.tsx";
import { type CellPlace, stepTo } from "./active-cell.ts";
import { isRounded, type Row, toCell, widths } from "./cell.ts";

/** As in sql.css. */
const rowHeight = 28;

/** ARIA's pattern for a table that takes the focus as one and names the cell it is at. */
const asGrid = (at: string | undefined) => ({ role: "grid", "aria-activedescendant": at }) as const;
const asSelected = { "aria-selected": true } as const;

export interface GridProps {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly active: CellPlace;
  readonly onActive: (place: CellPlace) => void;
  /** The whole value of a cell is wanted. */
  readonly onOpen: (place: CellPlace) => void;
}

/** The rows of a result. Only those in view are in the page; the arrow keys go from cell to cell. */
export function Grid({ columns, rows, active, onActive, onOpen }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const { first, end, update } = useVirtualWindow(box, rows.length, rowHeight);
  const characters = useMemo(() => widths(columns, rows), [columns, rows]);
  const cellId = ({ row, column }: CellPlace) => `${id}-${row}-${column}`;
  const steered = useRef(false);
  useLayoutEffect(() => {
    if (!steered.current || box.current === null) return;
    const cell = document.getElementById(cellId(active));
    // A cell far away is drawn once the box has been scrolled there, and then this runs again.
    if (cell === null) box.current.scrollTop = active.row * rowHeight;
    else cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    steered.current = cell === null;
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const size = { rows: rows.length, columns: columns.length, page };
    const next = stepTo(event.key, event.ctrlKey || event.metaKey, active, size);
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    steered.current = true;
    if (next === undefined) onOpen(active);
    else onActive(next);
  };
  const withPlace = (use: (place: CellPlace) => void) => (event: MouseEvent) => {
    const place = placeOf(event.target);
    if (place !== undefined) use(place);
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
        onClick={withPlace(onActive)}
        onDblClick={withPlace(onOpen)}
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
          <Unseen rows={first} />
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
          <Unseen rows={rows.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** The room of rows that are not drawn. */
function Unseen({ rows }: { readonly rows: number }) {
  return rows > 0 ? <tr style={{ height: `${rows * rowHeight}px` }} /> : null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" ? "number" : "text";
}

function placeOf(target: EventTarget | null): CellPlace | undefined {
  const cell = target instanceof Element ? target.closest("td") : null;
  const row = cell?.closest("tr")?.dataset.row;
  return cell === null || row === undefined ? undefined : { row: Number(row), column: cell.cellIndex };
}
