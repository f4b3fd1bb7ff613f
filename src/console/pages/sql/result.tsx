import { useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { save } from "../../ui/save.ts";
import { toast } from "../../ui/toasts.tsx";
import { type CellPosition, countFormulas, isRounded, toCsv, toJson, toReadable, toText } from "./cells.ts";
import { Grid } from "./grid.tsx";
import type { Result } from "./workspace.ts";

/** Rows of a result, with export buttons. */
export function ResultView({ result }: { readonly result: Result }) {
  const { rows, columns, truncated } = result;
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [open, setOpen] = useState<CellPosition>();
  const column = columns[open?.column ?? 0] ?? "";
  return (
    <>
      {truncated && (
        <p class="notice">
          <Icon name="warning" />
          Only the first {plural(rows.length, "row")} are shown; the result has more. Ask for fewer with WHERE
          or LIMIT.
        </p>
      )}
      {rows.some((row) => columns.some((name) => isRounded(row[name]))) && (
        <p class="notice">
          <Icon name="warning" />
          Numbers marked ≈ are rounded. {precisionHint}
        </p>
      )}
      <Grid columns={columns} rows={rows} active={active} onActive={setActive} onOpen={setOpen} />
      <div class="row">
        <Button onClick={() => setOpen(active)} title="Also by Enter or a double click on a cell">
          Show cell
        </Button>
        <Button
          icon="down"
          title="Text that a spreadsheet would run (= + - @) gets an apostrophe in front; JSON is exact"
          onClick={() => saveCsv(result)}
        >
          Save as CSV
        </Button>
        <Button icon="down" onClick={() => save("result.json", new Blob([toJson(rows)]))}>
          Save as JSON
        </Button>
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

function saveCsv({ columns, rows }: Result): void {
  save("result.csv", new Blob([toCsv(columns, rows)], { type: "text/csv" }));
  const count = countFormulas(columns, rows);
  if (count > 0)
    toast(
      `${plural(count, "text")} got an apostrophe in front, so that no spreadsheet runs it. JSON is exact.`,
    );
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
    <Dialog title={`${column}, row ${row.toLocaleString("en")}`} onClose={onClose} wide>
      {value === null && <p>NULL: there is no value.</p>}
      {value === "" && <p>An empty text.</p>}
      {isRounded(value) && <p class="notice">Rounded by the browser. {precisionHint}</p>}
      {value !== null && value !== "" && (
        // A scrolling element must be focusable to be scrolled by keyboard.
        <pre class="sql-value" tabIndex={0}>
          {tidy ? readable : text}
        </pre>
      )}
      <footer>
        {readable !== text && <Check label="Format JSON" checked={tidy} onChange={setTidy} />}
        {typeof value === "string" && <span class="muted">{plural(text.length, "character")}</span>}
        <CopyButton text={text} label="Copy value" />
      </footer>
    </Dialog>
  );
}

const precisionHint =
  "Whole numbers above 9,007,199,254,740,991 lose digits in a browser; CAST them to TEXT to see all.";
