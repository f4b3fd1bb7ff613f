import { DatabaseError, type NodeServerClient } from "../../../client/index.ts";
import { quoteName } from "../../editor/sql-name.ts";
import type { Dialect } from "./words.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface Table {
  /** With its schema before it unless that is the current one. */
  readonly name: string;
  /** As it must be written in a statement. */
  readonly quoted: string;
  readonly columns: readonly Column[];
}

export interface Schema {
  readonly dialect: Dialect;
  readonly tables: readonly Table[];
}

/** Each answers rows of the same four columns. */
const questions: Readonly<Record<Dialect, string>> = {
  sqlite: `SELECT '' AS space, m.name AS holder, p.name AS name, p.type AS type
FROM sqlite_master m JOIN pragma_table_info(m.name) p
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.name, p.cid`,
  postgres: `SELECT CASE table_schema WHEN current_schema() THEN '' ELSE table_schema END AS space,
table_name AS holder, column_name AS name, data_type AS type
FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2, ordinal_position`,
};

/** The tables and views of the database. A token that may not ask for its kind finds it out by trying. */
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
  const { data } = await client.call("node-server_exec_sql", { sql: questions[dialect] }, { signal });
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
