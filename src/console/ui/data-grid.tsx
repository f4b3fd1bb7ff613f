import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type CellPosition, headRow, stepTo } from "./cell-steps.ts";
import { Icon } from "./icons.tsx";
import { useVirtualWindow } from "./list.tsx";
import type { Order } from "./order.ts";
import "../styles/data-grid.css";

/** Row height in pixels, as in data-grid.css. */
const rowHeight = 28;

/** ARIA grid pattern: the table has the focus and names its active cell. */
const asGrid = (at: string | undefined) => ({ role: "grid", "aria-activedescendant": at }) as const;
const asSelected = { "aria-selected": true } as const;

interface GridLabels {
  /** Accessible name, and how the keys are used. */
  readonly name: string;
  readonly description: string;
  /** Tooltip of a head, and of its edge. */
  readonly sortBy: (column: string) => string;
  readonly edge: string;
}

interface DataGridProps {
  readonly labels: GridLabels;
  readonly columns: readonly string[];
  readonly count: number;
  /** Text of a cell, and its class. */
  readonly cell: (row: number, column: string) => { readonly text: string; readonly class: string };
  /** Width of each column in characters, until the person changes one. */
  readonly characters: readonly number[];
  readonly order: Order | undefined;
  /** Called for a click on a column head, and for Enter or Space on it. */
  readonly onSort: (column: string) => void;
  readonly active: CellPosition;
  readonly onActive: (position: CellPosition) => void;
  /** Called when the person wants to see a whole value. */
  readonly onOpen: (position: CellPosition) => void;
  /** Called when the last row comes into view, and again when there are more rows. */
  readonly onEnd?: () => void;
}

/**
 * Grid of texts with any number of rows. Only those in view are in the DOM. The arrow keys move from cell to cell and to the heads; Shift with them
 * changes the width of the column, as dragging the edge of its head does.
 */
export function DataGrid(props: DataGridProps) {
  const { labels, columns, count, characters, order, onSort, active, onActive, onOpen, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const id = useId();
  const { first, end, update } = useVirtualWindow(box, count, rowHeight);
  const isAtEnd = end === count;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, count, onEnd === undefined]);
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
    const size = { rows: count, columns: columns.length, page };
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
    <div ref={box} class="data-grid" onScroll={update}>
      <table
        ref={table}
        {...asGrid(isDrawn ? cellId(active) : undefined)}
        tabIndex={0}
        aria-label={labels.name}
        aria-description={labels.description}
        aria-rowcount={count + 1}
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
                title={labels.sortBy(name)}
                aria-sort={order?.column !== name ? "none" : order.isDown ? "descending" : "ascending"}
                {...isActive({ row: headRow, column })}
              >
                {name}
                {order?.column === name && <Icon name={order.isDown ? "sortDown" : "sortUp"} />}
                <span class="data-grid-edge" title={labels.edge} aria-hidden="true" />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <RowSpacer rows={first} />
          {shown.map((row) => (
            <tr key={row} data-row={row} aria-rowindex={row + 2}>
              {columns.map((name, column) => {
                const { text, class: kind } = props.cell(row, name);
                return (
                  <td key={name} id={cellId({ row, column })} class={kind} {...isActive({ row, column })}>
                    {text}
                  </td>
                );
              })}
            </tr>
          ))}
          <RowSpacer rows={count - end} />
        </tbody>
      </table>
    </div>
  );
}

/** Space of rows that are not rendered. */
function RowSpacer({ rows }: { readonly rows: number }) {
  return rows > 0 ? <tr style={{ height: `${rows * rowHeight}px` }} /> : null;
}

function positionOf(target: EventTarget | null): CellPosition | undefined {
  const cell = target instanceof Element ? target.closest<HTMLTableCellElement>("td, th") : null;
  const row = cell?.closest("tr")?.dataset.row;
  return cell === null || row === undefined ? undefined : { row: Number(row), column: cell.cellIndex };
}

/** Whether the target is the edge of a column head. */
function isEdge(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".data-grid-edge") !== null;
}

/** Narrowest column in pixels: its edge can still be taken. */
const minWidth = 40;
const maxWidth = 2000;
/** Change of the width by one key. */
const keyStep = 16;

/** Widths of columns that were changed by hand. */
interface ColumnWidths {
  /** Pixels of every column; undefined until one of them is changed. */
  readonly pixels: readonly number[] | undefined;
  /** Makes a column wider (1) or narrower (-1) by a step. */
  readonly step: (column: number, direction: 1 | -1) => void;
  /** Starts to drag the edge of a column. */
  readonly drag: (column: number, event: PointerEvent) => void;
  /** Gives all columns their first widths again. */
  readonly reset: () => void;
}

/** Column widths of a table. The first change measures all columns: the browser stretches them to the width of the table. */
function useColumnWidths(table: RefObject<HTMLTableElement | null>): ColumnWidths {
  const [pixels, setPixels] = useState<readonly number[]>();
  const latest = useRef(pixels);
  latest.current = pixels;
  const set = (column: number, width: number) => {
    const next = [...(latest.current ?? measure(table.current))];
    next[column] = Math.min(maxWidth, Math.max(minWidth, Math.round(width)));
    latest.current = next;
    setPixels(next);
  };
  const widthOf = (column: number) => (latest.current ?? measure(table.current))[column] ?? minWidth;
  return {
    pixels,
    step: (column, direction) => set(column, widthOf(column) + direction * keyStep),
    drag: (column, event) => {
      const edge = event.target as HTMLElement;
      const [start, width] = [event.clientX, widthOf(column)];
      const dragging = new AbortController();
      const end = () => dragging.abort();
      // The edge gets all events of this pointer, also those outside of it.
      edge.setPointerCapture(event.pointerId);
      const move = ({ clientX }: PointerEvent) => set(column, width + clientX - start);
      edge.addEventListener("pointermove", move, dragging);
      edge.addEventListener("pointerup", end, dragging);
      edge.addEventListener("pointercancel", end, dragging);
    },
    reset: () => setPixels(undefined),
  };
}

function measure(table: HTMLTableElement | null): readonly number[] {
  return [...(table?.tHead?.rows[0]?.cells ?? [])].map(({ offsetWidth }) => offsetWidth);
}
