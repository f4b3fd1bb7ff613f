import { useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icons.tsx";
import { save } from "../../ui/save.ts";
import { toast } from "../../ui/toasts.tsx";
import type { CellPlace } from "./active-cell.ts";
import { isRounded } from "./cell.ts";
import { CellViewer, wholeDigits } from "./cell-viewer.tsx";
import type { Result } from "./desk.ts";
import { countFormulas, toCsv, toJson } from "./export.ts";
import { Grid } from "./grid.tsx";

/** The rows that a statement answered, and what can be done with them. */
export function ResultView({ result }: { readonly result: Result }) {
  const { rows, columns, truncated } = result;
  const [active, setActive] = useState<CellPlace>({ row: 0, column: 0 });
  const [open, setOpen] = useState<CellPlace>();
  const column = columns[open?.column ?? 0] ?? "";
  return (
    <>
      {truncated && (
        <p class="notice">
          <Icon name="warning" />
          Only the first {plural(rows.length, "row")} are here; the result has more. Ask for fewer with WHERE
          or LIMIT.
        </p>
      )}
      {rows.some((row) => columns.some((name) => isRounded(row[name]))) && (
        <p class="notice">
          <Icon name="warning" />
          Numbers marked ≈ are rounded. {wholeDigits}
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
