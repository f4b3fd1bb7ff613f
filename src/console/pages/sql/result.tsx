import { useEffect, useMemo, useState } from "preact/hooks";
import { duration, number, sentences } from "../../format.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useNow } from "../../ui/call.tsx";
import type { CellPosition } from "../../ui/cell-steps.ts";
import { CopyButton, save, toClipboard } from "../../ui/copy.tsx";
import { DataGrid } from "../../ui/data-grid.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Search } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { MoreMenu } from "../../ui/more-menu.tsx";
import type { Order } from "../../ui/order.ts";
import { Problem } from "../../ui/problem.tsx";
import { showError, toast } from "../../ui/toasts.tsx";
import {
  columnWidths,
  countFormulas,
  countStatements,
  type Dialect,
  filterRows,
  isRounded,
  mayChange,
  nextOrder,
  type PlanStep,
  type Row,
  sortRows,
  toCell,
  toCsv,
  toJson,
  toReadable,
  toText,
} from "./model.ts";
import { RowReader } from "./queries.ts";
import type { Outcome, Result, SqlWorkspace } from "./workspace.ts";

type ResultOutcome = Extract<Outcome, { kind: "result" }>;

interface OutcomeViewProps {
  readonly workspace: SqlWorkspace;
  readonly dialect: Dialect | undefined;
  readonly onGoTo: () => void;
}

/** Result of the last statement: rows, an error, or that it is still running. */
export function OutcomeView({ workspace, dialect, onGoTo }: OutcomeViewProps) {
  const running = workspace.running.value;
  const outcome = workspace.outcome.value;
  return (
    <section class="sql-outcome" aria-label={t.sql.result}>
      <p role="status" class="sql-status">
        {running !== undefined ? t.sql.running : outcome !== undefined && sentence(outcome, dialect)}
      </p>
      {running !== undefined && <Wait since={running.since} />}
      {running === undefined && outcome === undefined && <p class="empty">{t.sql.intro}</p>}
      {outcome?.kind === "error" && (
        <>
          <Problem error={outcome.error} />
          {outcome.mark !== undefined && (
            <div class="row">
              <Button onClick={onGoTo}>{t.sql.goTo(outcome.mark.line, outcome.mark.column)}</Button>
            </div>
          )}
        </>
      )}
      {outcome?.kind === "plan" && (
        // A scrolling element must be focusable to be scrolled by keyboard.
        <section class="sql-plan" aria-label={t.sql.explain} tabIndex={0}>
          <Steps steps={outcome.steps} />
        </section>
      )}
      {outcome?.kind === "result" && outcome.result.rows.length > 0 && (
        <StatementRows key={outcome} outcome={outcome} dialect={dialect} />
      )}
    </section>
  );
}

/** Steps of a query plan, each with those that it takes its rows from. */
function Steps({ steps }: { readonly steps: readonly PlanStep[] }) {
  return (
    <ul>
      {steps.map(({ title, details, estimate, readsAll, children }, at) => (
        <li key={`${at} ${title}`}>
          <p>
            <strong>{title}</strong> {readsAll && <span class="badge warn">{t.sql.readsAll}</span>}
            {estimate !== undefined && (
              <small>{t.sql.estimate(t.sql.countRows(estimate.rows), number(estimate.cost))}</small>
            )}
          </p>
          {details.map((detail) => (
            <p key={detail} class="muted">
              {detail}
            </p>
          ))}
          {children.length > 0 && <Steps steps={children} />}
        </li>
      ))}
    </ul>
  );
}

/** Elapsed time. Hidden from screen readers, which would announce it every second. */
function Wait({ since }: { readonly since: number }) {
  const now = useNow(1000);
  return (
    <p class="muted" aria-hidden="true">
      {t.sql.waitedFor(duration(Math.max(0, now - since)))}
    </p>
  );
}

function sentence(outcome: Outcome, dialect: Dialect | undefined): string {
  const ms = `${number(Math.round(outcome.ms))} ms`;
  if (outcome.kind === "abandoned") return t.sql.abandoned;
  if (outcome.kind === "error") return t.sql.failedAfter(ms);
  if (outcome.kind === "plan") return t.sql.planTitle;
  const count = countStatements(outcome.sql, dialect);
  return sentences(resultSentence(outcome, ms), count > 1 && t.sql.lastOf(count));
}

function resultSentence(outcome: ResultOutcome, ms: string): string {
  const { rows, columns, rowCount } = outcome.result;
  const trip = t.sql.roundTrip(ms);
  if (rows.length > 0 && rowCount > rows.length && !outcome.result.truncated)
    return t.sql.rowsAffected(t.sql.countRows(rows.length), number(rowCount), trip);
  if (rows.length > 0) return t.sql.rowsTrip(t.sql.countRows(rows.length), trip);
  if (columns.length > 0 && rowCount === 0) return t.sql.noRows(trip);
  return t.sql.done(t.sql.countRows(rowCount), trip);
}

interface StatementRowsProps {
  readonly outcome: ResultOutcome;
  readonly dialect: Dialect | undefined;
}

/** Rows of a statement. A cursor reads those after the first 10,000, and is closed when the page is left. */
function StatementRows({ outcome: { sql, result }, dialect }: StatementRowsProps) {
  const { client } = useSession();
  const reader = useMemo(() => new RowReader(client, sql), []);
  useEffect(() => () => reader.close(), []);
  const [{ rows, isComplete }, setRead] = useState({ rows: result.rows, isComplete: !result.truncated });
  const [isReading, setIsReading] = useState(false);
  const load = async () => {
    if (isReading) return;
    setIsReading(true);
    await reader
      .readBeyond(rows.length)
      .then(setRead)
      .finally(() => setIsReading(false));
  };
  const isQuery = countStatements(sql, dialect) === 1 && !mayChange(sql, dialect);
  return (
    <ResultView
      result={{ ...result, rows, truncated: !isComplete }}
      {...(isQuery && { more: { load, isReading } })}
    />
  );
}

interface ResultViewProps {
  readonly result: Result;
  /** Reads more rows of a result that is truncated. */
  readonly more?: { readonly load: () => Promise<void>; readonly isReading: boolean };
  /** Order of rows that the server sorts. Without it the rows are sorted here. */
  readonly serverOrder?: ServerOrder;
}

interface ServerOrder {
  readonly order: Order | undefined;
  readonly onSort: (column: string) => void;
}

/** Rows of a result, which can be sorted, filtered, copied and saved. */
export function ResultView({ result, more, serverOrder }: ResultViewProps) {
  const { rows: all, columns, truncated } = result;
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [open, setOpen] = useState<CellPosition>();
  const [find, setFind] = useState("");
  const [ownOrder, setOwnOrder] = useState<Order>();
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
  // Sorted or filtered rows do not go on where the last of them is.
  const isAsRead = ownOrder === undefined && find === "";
  return (
    <>
      {truncated && (
        <p class="notice">
          <Icon name="warning" />
          <span>
            {sentences(t.sql.truncated(t.sql.countRows(all.length)), more === undefined && t.sql.useLimit)}
          </span>
          {more !== undefined && (
            <Button busy={more.isReading} onClick={more.load}>
              {t.sql.loadMore}
            </Button>
          )}
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
          <Search label={t.sql.filterRows} value={find} onChange={setFind} />
          <span class="muted" role="status">
            {find !== "" && t.sql.shownOf(number(rows.length), t.sql.countRows(all.length))}
          </span>
        </div>
      )}
      <DataGrid
        labels={{
          name: t.sql.resultRows,
          description: t.sql.gridKeys,
          sortBy: t.sql.sortBy,
          edge: t.sql.dragEdge,
        }}
        columns={columns}
        count={rows.length}
        cell={(row, name) => {
          const value = rows[row]?.[name];
          return { text: `${isRounded(value) ? "≈ " : ""}${toCell(value)}`, class: kindOf(value) };
        }}
        characters={characters}
        order={order}
        onSort={sort}
        active={at}
        onActive={setActive}
        onOpen={setOpen}
        {...(truncated && more !== undefined && isAsRead && { onEnd: () => more.load().catch(showError) })}
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

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" ? "number" : "text";
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

interface CellViewerProps {
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
