import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import { useVirtualWindow } from "../../ui/list.tsx";
import { type CellPosition, headRow, isRounded, type Row, stepTo, toCell } from "./cells.ts";
import { useColumnWidths } from "./column-widths.ts";
import type { SortOrder } from "./row-order.ts";

/** Row height in pixels, as in sql.css. */
const rowHeight = 28;

/** ARIA grid pattern: the table has the focus and names its active cell. */
const asGrid = (at: string | undefined) => ({ role: "grid", "aria-activedescendant": at }) as const;
const asSelected = { "aria-selected": true } as const;

export interface GridProps {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Width of each column in characters, until the person changes one. */
  readonly characters: readonly number[];
  readonly order: SortOrder | undefined;
  /** Called for a click on a column head, and for Enter or Space on it. */
  readonly onSort: (column: string) => void;
  readonly active: CellPosition;
  readonly onActive: (position: CellPosition) => void;
  /** Called when the person wants to see a whole value. */
  readonly onOpen: (position: CellPosition) => void;
}

/**
 * Rows of a result. Only those in view are in the DOM. The arrow keys move from cell to cell and to the heads; Shift with them
 * changes the width of the column, as dragging the edge of its head does.
 */
export function Grid(props: GridProps) {
  const { columns, rows, characters, order, onSort, active, onActive, onOpen } = props;
  const box = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const id = useId();
  const { first, end, update } = useVirtualWindow(box, rows.length, rowHeight);
  const { pixels, ...widths } = useColumnWidths(table);
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
    const { key, shiftKey } = event;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const size = { rows: rows.length, columns: columns.length, page };
    const isHead = active.row === headRow;
    const resizes = shiftKey && (key === "ArrowLeft" || key === "ArrowRight");
    const next = stepTo(key, event.ctrlKey || event.metaKey, active, size);
    if (next === undefined && key !== "Enter" && !(isHead && key === " ")) return;
    event.preventDefault();
    movedByKey.current = true;
    if (resizes) widths.step(active.column, key === "ArrowLeft" ? -1 : 1);
    else if (next !== undefined) onActive(next);
    else if (isHead) onSort(columns[active.column] ?? "");
    else onOpen(active);
  };
  const onClick = ({ target }: MouseEvent) => {
    const position = positionOf(target);
    if (position === undefined || isEdge(target)) return;
    onActive(position);
    if (position.row === headRow) onSort(columns[position.column] ?? "");
  };
  const onDblClick = ({ target }: MouseEvent) => {
    const position = positionOf(target);
    if (isEdge(target)) widths.reset();
    else if (position !== undefined && position.row !== headRow) onOpen(position);
  };
  const onPointerDown = (event: PointerEvent) => {
    const position = positionOf(event.target);
    if (position === undefined || event.button !== 0 || !isEdge(event.target)) return;
    // Dragging must not select the text of the heads.
    event.preventDefault();
    widths.drag(position.column, event);
  };
  const isActive = (position: CellPosition) =>
    position.row === active.row && position.column === active.column ? asSelected : {};
  const isDrawn = active.row === headRow || (active.row >= first && active.row < end);
  const shown = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  const widthOf = (at: number) => (pixels === undefined ? `${characters[at]}ch` : `${pixels[at]}px`);
  return (
    <div ref={box} class="sql-grid" onScroll={update}>
      <table
        ref={table}
        {...asGrid(isDrawn ? cellId(active) : undefined)}
        tabIndex={0}
        aria-label={t.sql.resultRows}
        aria-description={t.sql.gridKeys}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        class={pixels === undefined ? undefined : "resized"}
        style={{ width: `calc(${columns.map((_, at) => widthOf(at)).join(" + ")})` }}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onDblClick={onDblClick}
        onPointerDown={onPointerDown}
      >
        <colgroup>
          {columns.map((column, at) => (
            <col key={column} style={{ width: widthOf(at) }} />
          ))}
        </colgroup>
        <thead>
          <tr data-row={headRow} aria-rowindex={1}>
            {columns.map((name, column) => (
              <th
                key={name}
                id={cellId({ row: headRow, column })}
                scope="col"
                title={t.sql.sortBy(name)}
                aria-sort={order?.column === name ? order.direction : "none"}
                {...isActive({ row: headRow, column })}
              >
                {name}
                {order?.column === name && (
                  <Icon name={order.direction === "ascending" ? "sortUp" : "sortDown"} />
                )}
                <span class="sql-edge" title={t.sql.dragEdge} aria-hidden="true" />
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
                  {...isActive({ row, column })}
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
  const cell = target instanceof Element ? target.closest<HTMLTableCellElement>("td, th") : null;
  const row = cell?.closest("tr")?.dataset.row;
  return cell === null || row === undefined ? undefined : { row: Number(row), column: cell.cellIndex };
}

/** Whether the target is the edge of a column head. */
function isEdge(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".sql-edge") !== null;
}
