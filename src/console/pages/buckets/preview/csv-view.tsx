import { number } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { PlainTable } from "../../../ui/data-table.tsx";
import { parseCsv } from "./csv.ts";

const maxRows = 1000;
const maxColumns = 100;

/** Beginning of a CSV text as a table. Its first row is the head. */
export default function CsvView({ text, path }: { readonly text: string; readonly path: string }) {
  const { rows, more } = parseCsv(text, maxRows);
  const [head = [], ...body] = rows;
  const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
  const isCut = more || columns > maxColumns;
  const cells = [...Array(Math.min(columns, maxColumns)).keys()];
  return (
    <>
      {isCut && <p class="muted">{t.files.firstRows(number(maxRows), number(maxColumns))}</p>}
      {/* A scrolling element must be focusable to be scrolled by keyboard. */}
      <section class="table-box preview-table" tabIndex={0} aria-label={t.files.contentOf(path)}>
        <PlainTable heads={cells.map((at) => head[at])} rows={body} />
      </section>
    </>
  );
}
