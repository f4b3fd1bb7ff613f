import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { number } from "../../format.ts";
import { closeTo } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { useLoad, WhenLoaded } from "../../ui/call.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Segments } from "../../ui/form.tsx";
import type { Order } from "../../ui/order.ts";
import { Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { nextOrder } from "./model.ts";
import { type DialectTable, pageQuery, pageSize, readIndexes, type Table } from "./queries.ts";
import { ResultView } from "./result.tsx";

/** Rows of a table page by page, and its columns and indexes. */
export function TableBrowser({ table, dialect }: DialectTable) {
  const [tab, setTab] = useState<"rows" | "structure">("rows");
  const heading = useRef<HTMLHeadingElement>(null);
  // On a phone the list of tables is below: what was chosen there must come into view.
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section class="sql-workspace" aria-label={table.name}>
      <div class="row">
        <IconButton icon="previous" label={t.sql.backToStatement} onClick={closeTable} />
        <h2 ref={heading} tabIndex={-1}>
          {table.name}
        </h2>
      </div>
      <Tabs
        label={table.name}
        class="sql-outcome"
        tabs={[
          { name: "rows", title: t.sql.rowsTab },
          { name: "structure", title: t.sql.structureTab },
        ]}
        chosen={tab}
        onChoose={setTab}
      >
        {tab === "rows" ? (
          <TableRows table={table} dialect={dialect} />
        ) : (
          <TableStructure table={table} dialect={dialect} />
        )}
      </Tabs>
    </section>
  );
}

/** Shows the statement again. */
export function closeTable(): void {
  closeTo({}, ({ query }) => !query.has("table"));
}

function TableRows({ table, dialect }: DialectTable) {
  const { client } = useSession();
  const [isNewestFirst, setIsNewestFirst] = useState(true);
  const [order, setOrder] = useState<Order>();
  const [offset, setOffset] = useState(0);
  const sql = pageQuery({ table, dialect, isNewestFirst, order, offset });
  const { value, error, loading, reload } = useLoad(
    async (signal) => ({
      offset,
      ...(await client.call("node-server_exec_sql", { sql }, { signal, timeoutMs: 0 })),
    }),
    [client, sql],
  );
  const result = useMemo(() => {
    if (value === undefined) return undefined;
    const rows = value.data.slice(0, pageSize);
    return { rows, columns: value.columns, rowCount: rows.length, truncated: false };
  }, [value]);
  const restart = () => setOffset(0);
  return (
    <>
      <div class="row sql-pages" aria-busy={loading}>
        {table.creationOrder.length > 0 && (
          <Segments
            label={t.sql.order}
            options={[
              { value: "newest", title: t.sql.newestFirst },
              { value: "oldest", title: t.sql.oldestFirst },
            ]}
            tip={t.sql.orderedBy(table.creationOrder.join(", "))}
            value={order !== undefined ? undefined : isNewestFirst ? "newest" : "oldest"}
            onChange={(first) => {
              setIsNewestFirst(first === "newest");
              setOrder(undefined);
              restart();
            }}
          />
        )}
        <span>
          <IconButton
            icon="previous"
            label={t.sql.previousPage}
            busy={loading}
            disabled={offset === 0}
            onClick={() => setOffset(Math.max(0, offset - pageSize))}
          />
          <span role="status">
            {result !== undefined &&
              value !== undefined &&
              (result.rows.length === 0
                ? t.sql.emptyPage
                : t.sql.rowRange(number(value.offset + 1), number(value.offset + result.rows.length)))}
          </span>
          <IconButton
            icon="next"
            label={t.sql.nextPage}
            busy={loading}
            disabled={value === undefined || value.data.length <= pageSize}
            onClick={() => setOffset(offset + pageSize)}
          />
        </span>
        <RowCount key={table.id} table={table} />
        <Button kind="quiet" icon="retry" busy={loading} onClick={reload}>
          {t.frame.reload}
        </Button>
      </div>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {result === undefined && error === undefined && <Skeleton rows={6} />}
      {result !== undefined && (
        <ResultView
          result={result}
          serverOrder={{
            order,
            onSort: (column) => {
              setOrder((before) => nextOrder(before, column));
              restart();
            },
          }}
        />
      )}
    </>
  );
}

/** Counts the rows when asked to: in a large table of PostgreSQL that takes a while. */
function RowCount({ table }: { readonly table: Table }) {
  const { client } = useSession();
  const [count, setCount] = useState<number>();
  const read = async () => {
    const sql = `SELECT count(*) AS n FROM ${table.id}`;
    const { data } = await client.call("node-server_exec_sql", { sql }, { timeoutMs: 0 });
    setCount(Number(data[0]?.n));
  };
  return (
    <>
      <Button kind="quiet" onClick={read}>
        {t.sql.count}
      </Button>
      <span role="status">{count !== undefined && t.sql.total(t.sql.countRows(count))}</span>
    </>
  );
}

/** Columns and indexes of a table. */
function TableStructure({ table, dialect }: DialectTable) {
  const { client } = useSession();
  const indexes = useLoad((signal) => readIndexes(client, { table, dialect }, signal), [client, table.id]);
  return (
    // A scrolling element must be focusable to be scrolled by keyboard.
    <section class="sql-structure" aria-label={t.sql.structureTab} tabIndex={0}>
      <DataTable
        label={t.sql.columns}
        caption={t.sql.columns}
        columns={[
          { id: "name", title: t.frame.name, kind: "heading", cell: ({ name }) => name },
          { id: "type", title: t.sql.type, cell: ({ type }) => type },
          {
            id: "standard",
            title: t.sql.standard,
            cell: ({ standard }) => standard !== undefined && <code>{standard}</code>,
          },
          {
            id: "rules",
            title: t.sql.rules,
            cell: ({ isKey, isRequired }) => (
              <>
                {isKey && <span class="badge">{t.sql.primaryKey}</span>}{" "}
                {isRequired && <span class="badge">{t.sql.notNull}</span>}
              </>
            ),
          },
        ]}
        rows={table.columns}
        keyOf={({ name }) => name}
      />
      <WhenLoaded of={indexes} rows={2}>
        {(found) =>
          found.length === 0 ? (
            <p class="muted">{t.sql.noIndexes}</p>
          ) : (
            <DataTable
              label={t.sql.indexes}
              caption={t.sql.indexes}
              columns={[
                { id: "name", title: t.frame.name, kind: "heading", cell: ({ name }) => name },
                { id: "columns", title: t.sql.columns, cell: ({ definition }) => <code>{definition}</code> },
                {
                  id: "rules",
                  title: t.sql.rules,
                  cell: ({ isUnique }) => isUnique && <span class="badge">{t.sql.unique}</span>,
                },
              ]}
              rows={found}
              keyOf={({ name }) => name}
            />
          )
        }
      </WhenLoaded>
    </section>
  );
}
