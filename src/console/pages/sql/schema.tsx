import { quoteName } from "../../editor/sql-name.ts";
import { linkTo, route } from "../../route.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import type { LoadState } from "../../ui/call.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Problem } from "../../ui/problem.tsx";
import type { Schema, Table } from "./tables.ts";

export interface SchemaListProps {
  readonly schema: LoadState<Schema>;
  readonly onPick: (name: string) => void;
}

/** Tables with their columns. A click on a name inserts it into the editor; the button beside a table shows its rows. */
export function SchemaList({ schema: { value, error, loading, reload }, onPick }: SchemaListProps) {
  return (
    <details class="sql-schema" open={wide.matches}>
      <summary>
        {t.sql.tables}
        {value !== undefined && ` (${value.tables.length})`}
      </summary>
      <div class="sql-schema-body">
        <div class="row">
          <span class="muted">{value === undefined ? "" : dialectNames[value.dialect]}</span>
          <Button kind="quiet" busy={loading} onClick={reload}>
            {t.frame.reload}
          </Button>
        </div>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value?.tables.map((table) => (
          <TableEntry key={table.id} table={table} onPick={onPick} />
        ))}
      </div>
    </details>
  );
}

interface TableEntryProps {
  readonly table: Table;
  readonly onPick: SchemaListProps["onPick"];
}

function TableEntry({ table, onPick }: TableEntryProps) {
  const isShown = route.value.query.get("table") === table.id;
  return (
    <div class="sql-table">
      <details>
        <summary>{table.name}</summary>
        <ul>
          <li>
            <Name text={t.sql.insertTable} onClick={() => onPick(table.quoted)} />
          </li>
          {table.columns.map(({ name, type }) => (
            <li key={name}>
              <Name text={name} onClick={() => onPick(quoteName(name))} />
              <small>{type}</small>
            </li>
          ))}
        </ul>
      </details>
      <a
        class="button quiet icon-only"
        href={linkTo("sql", [], { table: table.id })}
        aria-label={t.sql.showTable(table.name)}
        title={t.sql.showTable(table.name)}
        aria-current={isShown ? "page" : undefined}
      >
        <Icon name="table" />
      </a>
    </div>
  );
}

function Name({ text, onClick }: { readonly text: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="sql-name" onClick={onClick}>
      {text}
    </button>
  );
}

const dialectNames = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;
/** On a small screen the list is closed, because it is below the editor and the result. */
const wide = matchMedia("(min-width: 1001px)");
