import type { ComponentChildren, HTMLAttributes } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { changeQuery, route } from "../route.ts";
import { Icon } from "./icons.tsx";
import { useVirtualWindow } from "./list.tsx";
import { arrange, type Order, orderText, parseOrder, type SortValue, search } from "./order.ts";
import "../styles/data-table.css";

/** Column declares everything about a column of a `DataTable`. */
export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Without it, the table cannot be sorted by this column. */
  readonly sort?: (row: T) => SortValue;
  /** The first click on the head shows the largest or latest first. */
  readonly startsDown?: boolean;
  /** `heading` names the row; of `actions` only screen readers get the title. */
  readonly kind?: "heading" | "number" | "muted" | "actions";
  readonly width?: string;
  /** Tooltip of a cell. */
  readonly tip?: (row: T) => string | undefined;
  /** Hidden where the table is narrower: `medium` is 45rem, `wide` 68rem. */
  readonly from?: "medium" | "wide";
  /** In a row that is stacked: `label` puts the title before the value, `line` gives it a line of its own, a function another text. */
  readonly stacked?: "label" | "line" | ((row: T) => string | undefined);
}

interface TableView<T> {
  /** Rows to show, in their order. */
  readonly shown: readonly T[];
  readonly find: string;
  readonly onFind: (find: string) => void;
  readonly order: Order | undefined;
  readonly onSort: (column: Column<T>) => void;
}

interface TableOptions<T> {
  readonly columns: ReadonlyArray<Column<T>>;
  /** Lower-case text of a row that the search looks in. */
  readonly text?: (row: T) => string;
  /** Order without one in the address. Default: as the rows are given. */
  readonly initial?: Order;
}

/** Search and order of a table, which the address keeps as `?find=…&sort=-name`. */
export function useTableView<T>(
  rows: readonly T[],
  { columns, text, initial }: TableOptions<T>,
): TableView<T> {
  const { query } = route.value;
  const find = query.get("find") ?? "";
  const wanted = query.get("sort") ?? "";
  const asked = parseOrder(wanted);
  const sortOf = (column: string | undefined) => columns.find(({ id }) => id === column)?.sort;
  const order = sortOf(asked.column) === undefined ? initial : asked;
  const shown = useMemo(() => {
    const found = text === undefined ? rows : search(rows, find, text);
    const sort = sortOf(order?.column);
    return order === undefined || sort === undefined ? found : arrange(found, sort, order.isDown);
  }, [rows, find, wanted]);
  return {
    shown,
    find,
    onFind: (next) => changeQuery({ find: next }),
    order,
    onSort: ({ id, startsDown = false }) => {
      const next = { column: id, isDown: order?.column === id ? !order.isDown : startsDown };
      const isInitial = initial?.column === next.column && initial.isDown === next.isDown;
      changeQuery({ sort: isInitial ? "" : orderText(next) });
    },
  };
}

/** Rows that the person has marked. */
interface Selection<T> {
  /** Keys of the marked rows. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (keys: readonly string[], on: boolean) => void;
  readonly isFixed: (row: T) => boolean;
  readonly labelAll: string;
  readonly labelOf: (row: T) => string;
}

interface DataTableProps<T> extends Partial<Pick<TableView<T>, "order" | "onSort">> {
  /** Accessible name. */
  readonly label: string;
  /** Visible title. */
  readonly caption?: string;
  readonly class?: string;
  readonly columns: ReadonlyArray<Column<T>>;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Accessible name of a row, if no column is its heading. */
  readonly nameOf?: (row: T) => string;
  /** All rows have this height in pixels, and only those in view are in the DOM. */
  readonly rowHeight?: number;
  /** Height: that of its rows, at most the window's, or the rest of a tall page. */
  readonly height?: "rows" | "window" | "page";
  /** Where there is no room for columns, each row becomes a block. */
  readonly stacks?: boolean;
  readonly selection?: Selection<T>;
  readonly rowProps?: (row: T) => HTMLAttributes<HTMLTableRowElement>;
}

/** Table of rows with declared columns. */
export function DataTable<T>(props: DataTableProps<T>) {
  const {
    label,
    caption,
    columns,
    rows,
    keyOf,
    rowHeight,
    height = "rows",
    stacks,
    order,
    selection,
  } = props;
  const box = useRef<HTMLDivElement>(null);
  const isVirtual = rowHeight !== undefined;
  const view = useVirtualWindow(box, rows.length, rowHeight ?? 0);
  const { first, end } = isVirtual ? view : { first: 0, end: rows.length };
  // Another order begins at its top.
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = 0;
  }, [order?.column, order?.isDown]);
  const kinds = ["table", "data-table", isVirtual && "even", stacks && "stacks", props.class];
  return (
    <div ref={box} class={`table-box ${height}-high`} onScroll={isVirtual ? view.update : undefined}>
      <table
        class={kinds.filter(Boolean).join(" ")}
        aria-label={caption === undefined ? label : undefined}
        aria-rowcount={isVirtual ? rows.length + 1 : undefined}
        style={isVirtual ? { "--row-height": `${rowHeight}px` } : undefined}
      >
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr aria-rowindex={isVirtual ? 1 : undefined}>
            {selection !== undefined && <ChooseAll rows={rows} keyOf={keyOf} selection={selection} />}
            {columns.map((column) => (
              <Head key={column.id} column={column} order={order} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first * (rowHeight ?? 0)} />
          {rows.slice(first, end).map((row, at) => (
            <Row
              key={keyOf(row)}
              row={row}
              id={keyOf(row)}
              index={isVirtual ? first + at + 2 : undefined}
              name={props.nameOf?.(row)}
              columns={columns}
              isChosen={selection?.chosen.has(keyOf(row)) ?? false}
              selection={selection}
              rowProps={props.rowProps}
            />
          ))}
          <Spacer height={(rows.length - end) * (rowHeight ?? 0)} />
        </tbody>
      </table>
    </div>
  );
}

/** Space of rows that are not rendered. */
function Spacer({ height }: { readonly height: number }) {
  return height > 0 ? <tr class="spacer" style={{ height: `${height}px` }} /> : null;
}

interface ChooseAllProps<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly selection: Selection<T>;
}

function ChooseAll<T>({ rows, keyOf, selection }: ChooseAllProps<T>) {
  const { chosen, onChoose, isFixed, labelAll } = selection;
  const keys = useMemo(() => rows.filter((row) => !isFixed(row)).map(keyOf), [rows]);
  const hasAll = keys.length > 0 && keys.every((key) => chosen.has(key));
  return (
    <th class="choice">
      <input
        type="checkbox"
        aria-label={labelAll}
        checked={hasAll}
        disabled={keys.length === 0}
        onChange={() => onChoose(keys, !hasAll)}
      />
    </th>
  );
}

interface HeadProps<T> {
  readonly column: Column<T>;
  readonly order: Order | undefined;
  readonly onSort: DataTableProps<T>["onSort"] | undefined;
}

function Head<T>({ column, order, onSort }: HeadProps<T>) {
  const { id, title, kind, width } = column;
  const isSorted = order?.column === id;
  const isSortable = column.sort !== undefined && onSort !== undefined;
  return (
    <th
      scope="col"
      class={classOf(column)}
      style={width === undefined ? undefined : { width }}
      aria-sort={isSortable ? (isSorted ? (order.isDown ? "descending" : "ascending") : "none") : undefined}
    >
      {kind === "actions" ? (
        <span class="unseen">{title}</span>
      ) : isSortable ? (
        <button type="button" class="sort-head" onClick={() => onSort(column)}>
          {title}
          {isSorted && <Icon name={order.isDown ? "sortDown" : "sortUp"} />}
        </button>
      ) : (
        title
      )}
    </th>
  );
}

function classOf<T>({ id, kind, from, stacked }: Column<T>): string {
  const parts = [
    `col-${id}`,
    kind === "actions" ? "row-actions" : kind,
    from && `from-${from}`,
    stacked === "line" && "line",
  ];
  return parts.filter(Boolean).join(" ");
}

interface RowProps<T> {
  readonly columns: ReadonlyArray<Column<T>>;
  readonly row: T;
  readonly selection: Selection<T> | undefined;
  readonly rowProps: DataTableProps<T>["rowProps"] | undefined;
  readonly id: string;
  /** Position in the whole table, for screen readers. */
  readonly index: number | undefined;
  readonly name: string | undefined;
  readonly isChosen: boolean;
}

function Row<T>({ row, id, index, name, columns, isChosen, selection, rowProps }: RowProps<T>) {
  const { class: more, ...rest } = rowProps?.(row) ?? {};
  return (
    <tr
      aria-label={name}
      aria-rowindex={index}
      class={`${isChosen ? "chosen " : ""}${more ?? ""}` || undefined}
      {...rest}
    >
      {selection !== undefined && (
        <td class="choice">
          {!selection.isFixed(row) && (
            <input
              type="checkbox"
              aria-label={selection.labelOf(row)}
              checked={isChosen}
              onChange={() => selection.onChoose([id], !isChosen)}
            />
          )}
        </td>
      )}
      {columns.map((column) => cellOf(column, row))}
    </tr>
  );
}

function cellOf<T>(column: Column<T>, row: T) {
  const { id, title, kind, tip, stacked } = column;
  const other = typeof stacked === "function" ? stacked(row) : undefined;
  const props = {
    class: classOf(column),
    title: tip?.(row),
    "data-label": stacked === "label" ? title : undefined,
    "data-stacked": other,
  };
  const content = other === undefined ? column.cell(row) : <span>{column.cell(row)}</span>;
  return kind === "heading" ? (
    <th key={id} scope="row" {...props}>
      {content}
    </th>
  ) : (
    <td key={id} {...props}>
      {content}
    </td>
  );
}

interface PlainTableProps {
  readonly heads: readonly ComponentChildren[];
  readonly rows: ReadonlyArray<readonly ComponentChildren[]>;
}

/** Table of a document, with as many columns as it has heads. */
export function PlainTable({ heads, rows }: PlainTableProps) {
  return (
    <table class="table">
      <thead>
        <tr>
          {heads.map((head, at) => (
            <th key={at} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {heads.map((_, column) => (
              <td key={column}>{row[column]}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
