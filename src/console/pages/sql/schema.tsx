import { DatabaseError, type NodeServerClient } from "../../../client/index.ts";
import { quoteName } from "../../editor/sql-name.ts";
import { Button } from "../../ui/button.tsx";
import type { Loaded } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";
import type { Dialect } from "./statements.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface Table {
  /** Name, qualified with its schema unless that is the current one. */
  readonly name: string;
  /** Name as it must be written in a statement. */
  readonly quoted: string;
  readonly columns: readonly Column[];
}

interface Schema {
  readonly dialect: Dialect;
  readonly tables: readonly Table[];
}

/** Queries for all columns. Both return the same four columns. */
const columnQueries: Readonly<Record<Dialect, string>> = {
  sqlite: `SELECT '' AS space, m.name AS holder, p.name AS name, p.type AS type
FROM sqlite_master m JOIN pragma_table_info(m.name) p
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.name, p.cid`,
  postgres: `SELECT CASE table_schema WHEN current_schema() THEN '' ELSE table_schema END AS space,
table_name AS holder, column_name AS name, data_type AS type
FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2, ordinal_position`,
};

/** Tables and views of the database. Without permission to read its kind, tries SQLite first. */
export async function readSchema(
  client: NodeServerClient,
  mayAsk: boolean,
  signal: AbortSignal,
): Promise<Schema> {
  if (mayAsk) {
    const { data } = await client.call("node-server_get_database_type", {}, { signal });
    return readAs(client, data === "postgres" ? "postgres" : "sqlite", signal);
  }
  try {
    return await readAs(client, "sqlite", signal);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return readAs(client, "postgres", signal);
  }
}

async function readAs(client: NodeServerClient, dialect: Dialect, signal: AbortSignal): Promise<Schema> {
  const { data } = await client.call("node-server_exec_sql", { sql: columnQueries[dialect] }, { signal });
  return { dialect, tables: toTables(data) };
}

function toTables(rows: ReadonlyArray<Readonly<Record<string, unknown>>>): readonly Table[] {
  const tables = new Map<string, Table & { readonly columns: Column[] }>();
  for (const { space, holder, name, type } of rows) {
    const path = [String(space), String(holder)].filter((part) => part !== "");
    const table = tables.get(path.join("."));
    const column = { name: String(name), type: String(type).toLowerCase() };
    if (table !== undefined) table.columns.push(column);
    else
      tables.set(path.join("."), {
        name: path.join("."),
        quoted: path.map(quoteName).join("."),
        columns: [column],
      });
  }
  return [...tables.values()];
}

export interface SchemaListProps {
  readonly schema: Loaded<Schema>;
  readonly onPick: (name: string) => void;
}

/** Tables with their columns. A click inserts a name into the editor. */
export function SchemaList({ schema: { value, error, loading, reload }, onPick }: SchemaListProps) {
  return (
    <details class="sql-schema" open={wide.matches}>
      <summary>Tables{value !== undefined && ` (${value.tables.length})`}</summary>
      <div class="sql-schema-body">
        <div class="row">
          <span class="muted">{value === undefined ? "" : dialectNames[value.dialect]}</span>
          <Button kind="quiet" disabled={loading} onClick={reload}>
            Reload
          </Button>
        </div>
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value?.tables.map((table) => (
          <details key={table.name}>
            <summary>{table.name}</summary>
            <ul>
              <li>
                <Name text="Insert the table’s name" onClick={() => onPick(table.quoted)} />
              </li>
              {table.columns.map(({ name, type }) => (
                <li key={name}>
                  <Name text={name} onClick={() => onPick(quoteName(name))} />
                  <small>{type}</small>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </details>
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
/** On a phone the list is closed, because it is between the editor and the result. */
const wide = matchMedia("(min-width: 761px)");
