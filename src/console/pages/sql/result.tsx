import { useMemo, useState } from "preact/hooks";
import { number } from "../../format.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton, toClipboard } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, typed } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { MoreMenu } from "../../ui/more-menu.tsx";
import { save } from "../../ui/save.ts";
import { toast } from "../../ui/toasts.tsx";
import {
  type CellPosition,
  columnWidths,
  countFormulas,
  isRounded,
  type Row,
  toCsv,
  toJson,
  toReadable,
  toText,
} from "./cells.ts";
import { Grid } from "./grid.tsx";
import { filterRows, nextOrder, type SortOrder, sortRows } from "./row-order.ts";
import type { Result } from "./workspace.ts";

export interface ResultViewProps {
  readonly result: Result;
  /** Order of rows that the server sorts. Without it the rows are sorted here. */
  readonly serverOrder?: ServerOrder;
}

export interface ServerOrder {
  readonly order: SortOrder | undefined;
  readonly onSort: (column: string) => void;
}

/** Rows of a result, which can be sorted, filtered, copied and saved. */
export function ResultView({ result, serverOrder }: ResultViewProps) {
  const { rows: all, columns, truncated } = result;
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [open, setOpen] = useState<CellPosition>();
  const [find, setFind] = useState("");
  const [ownOrder, setOwnOrder] = useState<SortOrder>();
  const characters = useMemo(() => columnWidths(columns, all), [columns, all]);
  const hasRounded = useMemo(
    () => all.some((row) => columns.some((name) => isRounded(row[name]))),
    [columns, all],
  );
  const rows = useMemo(() => sortRows(filterRows(all, find), ownOrder), [all, find, ownOrder]);
  const onSort = (name: string) => setOwnOrder((before) => nextOrder(before, name));
  const { order, onSort: sort } = serverOrder ?? { order: ownOrder, onSort };
  // A filter may have removed the row that was active.
  const at = { ...active, row: Math.min(active.row, rows.length - 1) };
  const column = columns[open?.column ?? 0] ?? "";
  return (
    <>
      {truncated && (
        <p class="notice">
          <Icon name="warning" />
          {t.sql.truncated(t.sql.countRows(all.length))}
        </p>
      )}
      {hasRounded && (
        <p class="notice">
          <Icon name="warning" />
          {t.sql.rounded(t.sql.precisionHint)}
        </p>
      )}
      {(all.length > 1 || find !== "") && (
        <div class="row sql-filter">
          <input
            type="search"
            aria-label={t.sql.filterRows}
            placeholder={t.sql.filterRows}
            value={find}
            onInput={(event: Event) => setFind(typed(event))}
          />
          <span class="muted" role="status">
            {find !== "" && t.sql.shownOf(number(rows.length), t.sql.countRows(all.length))}
          </span>
        </div>
      )}
      <Grid
        columns={columns}
        rows={rows}
        characters={characters}
        order={order}
        onSort={sort}
        active={at}
        onActive={setActive}
        onOpen={setOpen}
      />
      <div class="row">
        <Button
          disabled={at.row < 0 || rows.length === 0}
          onClick={() => setOpen(at)}
          title={t.sql.showCellTitle}
        >
          {t.sql.showCell}
        </Button>
        <Button icon="download" title={t.sql.saveCsvTitle} onClick={() => saveCsv(columns, rows)}>
          {t.sql.saveCsv}
        </Button>
        <Button icon="download" onClick={() => save("result.json", new Blob([toJson(rows)]))}>
          {t.sql.saveJson}
        </Button>
        <MoreMenu
          label={t.sql.copyRows}
          items={[
            { label: t.sql.copyCsv, icon: "copy", onSelect: () => copyCsv(columns, rows) },
            { label: t.sql.copyJson, icon: "copy", onSelect: () => copy(toJson(rows), rows.length) },
          ]}
        />
        {(order !== undefined || find !== "") && <span class="hint">{t.sql.asShown}</span>}
      </div>
      {open !== undefined && (
        <CellViewer
          column={column}
          row={open.row + 1}
          value={rows[open.row]?.[column]}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

function saveCsv(columns: readonly string[], rows: readonly Row[]): void {
  save("result.csv", new Blob([toCsv(columns, rows)], { type: "text/csv" }));
  reportApostrophes(columns, rows);
}

async function copyCsv(columns: readonly string[], rows: readonly Row[]): Promise<void> {
  await copy(toCsv(columns, rows), rows.length);
  reportApostrophes(columns, rows);
}

async function copy(text: string, count: number): Promise<void> {
  await toClipboard(text);
  toast(t.sql.copiedRows(t.sql.countRows(count)));
}

function reportApostrophes(columns: readonly string[], rows: readonly Row[]): void {
  const count = countFormulas(columns, rows);
  if (count > 0) toast(t.sql.apostrophes(t.sql.countTexts(count)));
}

export interface CellViewerProps {
  readonly column: string;
  /** Row number, from 1. */
  readonly row: number;
  readonly value: unknown;
  readonly onClose: () => void;
}

/** Dialog with one whole value. */
function CellViewer({ column, row, value, onClose }: CellViewerProps) {
  const text = toText(value);
  const readable = toReadable(value);
  const [tidy, setTidy] = useState(true);
  return (
    <Dialog title={t.sql.cellTitle(column, number(row))} onClose={onClose} wide>
      {value === null && <p>{t.sql.isNull}</p>}
      {value === "" && <p>{t.sql.isEmpty}</p>}
      {isRounded(value) && <p class="notice">{t.sql.roundedCell(t.sql.precisionHint)}</p>}
      {value !== null && value !== "" && (
        // A scrolling element must be focusable to be scrolled by keyboard.
        <pre class="sql-value" tabIndex={0}>
          {tidy ? readable : text}
        </pre>
      )}
      <footer>
        {readable !== text && <Check label={t.sql.formatJson} checked={tidy} onChange={setTidy} />}
        {typeof value === "string" && <span class="muted">{t.sql.countCharacters(text.length)}</span>}
        <CopyButton text={text} label={t.sql.copyValue} />
      </footer>
    </Dialog>
  );
}
