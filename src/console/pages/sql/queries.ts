import { DatabaseError, type NodeServerClient } from "../../../client/index.ts";
import { quoteAlways, quoteName } from "../../editor/sql-name.ts";
import type { Order } from "../../ui/order.ts";
import type { Dialect, Row } from "./model.ts";

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Default value as SQL; undefined if there is none. */
  readonly standard: string | undefined;
  readonly isKey: boolean;
}

export interface Table {
  /** Name, qualified with its schema unless that is the current one. */
  readonly name: string;
  /** Name as it must be written in a statement. */
  readonly quoted: string;
  /** The same with quotes around every part, which is unique and needs no list of reserved words. */
  readonly id: string;
  /** Name of the schema; empty for the current one. */
  readonly space: string;
  /** Name without its schema. */
  readonly holder: string;
  readonly columns: readonly Column[];
  /** Expressions that put the rows into the order of their creation, as far as the database knows it. Empty for a view. */
  readonly creationOrder: readonly string[];
}

export interface Schema {
  readonly dialect: Dialect;
  readonly tables: readonly Table[];
}

/**
 * Queries for all columns. Both return the same columns; `key` is the position in the primary key, `rows_by` the hidden column that
 * identifies a row.
 */
const columnQueries: Readonly<Record<Dialect, string>> = {
  sqlite: `SELECT '' AS space, m.name AS holder, p.name AS name, p.type AS type, p."notnull" AS required, p.dflt_value AS standard,
p.pk AS key, CASE WHEN m.type = 'table' AND l.wr = 0 THEN 'rowid' END AS rows_by
FROM sqlite_master m JOIN pragma_table_xinfo(m.name) p JOIN pragma_table_list(m.name) l ON l.schema = 'main'
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND p.hidden <> 1 ORDER BY m.name, p.cid`,
  postgres: `SELECT CASE c.table_schema WHEN current_schema() THEN '' ELSE c.table_schema END AS space, c.table_name AS holder,
c.column_name AS name, CASE WHEN c.data_type IN ('ARRAY', 'USER-DEFINED') THEN c.udt_name ELSE c.data_type END AS type,
c.is_nullable = 'NO' AS required, c.column_default AS standard, coalesce(k.ordinal_position, 0) AS key,
CASE WHEN t.table_type = 'BASE TABLE' THEN 'ctid' END AS rows_by
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
LEFT JOIN (SELECT u.* FROM information_schema.key_column_usage u JOIN information_schema.table_constraints n
USING (constraint_schema, constraint_name, table_schema, table_name) WHERE n.constraint_type = 'PRIMARY KEY') k
USING (table_schema, table_name, column_name)
WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, c.ordinal_position`,
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
  const tables = Map.groupBy(data, ({ space, holder }) => JSON.stringify([space, holder]));
  return { dialect, tables: [...tables.values()].map((rows) => toTable(rows, dialect)) };
}

function toTable(rows: readonly Row[], dialect: Dialect): Table {
  const [{ space, holder, rows_by: rowsBy } = {} as Row] = rows;
  const path = [String(space), String(holder)].filter((part) => part !== "");
  const keys = rows
    .filter(({ key }) => Number(key) > 0)
    .sort((one, other) => Number(one.key) - Number(other.key))
    .map(({ name }) => quoteAlways(String(name)));
  const rowId = rowsBy === null ? [] : [String(rowsBy)];
  return {
    name: path.join("."),
    quoted: path.map(quoteName).join("."),
    id: path.map(quoteAlways).join("."),
    space: String(space),
    holder: String(holder),
    columns: rows.map(toColumn),
    // SQLite's rowid grows with each row; PostgreSQL's ctid is a place, which later rows may take again.
    creationOrder:
      (dialect === "sqlite" ? [rowId, keys] : [keys, rowId]).find(({ length }) => length > 0) ?? [],
  };
}

function toColumn({ name, type, required, standard, key }: Row): Column {
  return {
    name: String(name),
    type: String(type).toLowerCase(),
    isRequired: Boolean(required),
    standard: standard === null ? undefined : String(standard),
    isKey: Number(key) > 0,
  };
}

/** Table with the kind of its database. */
export interface DialectTable {
  readonly table: Table;
  readonly dialect: Dialect;
}

/** Rows of one page of a table. */
export const pageSize = 100;

interface PageRequest extends DialectTable {
  readonly isNewestFirst: boolean;
  /** Column to sort by in place of the order of creation. */
  readonly order: Order | undefined;
  /** Number of rows before the page. */
  readonly offset: number;
}

/** Statement that reads a page and one row more, which says that there is a next page. */
export function pageQuery({ table, dialect, isNewestFirst, order, offset }: PageRequest): string {
  const created = table.creationOrder.map((by) => `${by} ${isNewestFirst ? "DESC" : "ASC"}`);
  const sorted = order === undefined ? [] : [sortBy(table, dialect, order)];
  const by = [...sorted, ...created].join(", ");
  return `SELECT * FROM ${table.id}${by === "" ? "" : ` ORDER BY ${by}`} LIMIT ${pageSize + 1} OFFSET ${offset}`;
}

/** Types of PostgreSQL that have no order. */
const unordered = /^(json|xml|point)$/;

function sortBy({ columns }: Table, dialect: Dialect, { column, isDown }: Order): string {
  const type = columns.find(({ name }) => name === column)?.type ?? "";
  const value = `${quoteAlways(column)}${dialect === "postgres" && unordered.test(type) ? "::text" : ""}`;
  return `${value} ${isDown ? "DESC" : "ASC"} NULLS LAST`;
}

/** RowReader reads all rows of a query by a cursor, as far as they are asked for. */
export class RowReader {
  readonly #client: NodeServerClient;
  readonly #sql: string;
  readonly #closed = new AbortController();
  #pieces: ReturnType<NodeServerClient["readSql"]> | undefined;
  #rows: readonly Row[] = [];

  constructor(client: NodeServerClient, sql: string) {
    this.#client = client;
    this.#sql = sql;
  }

  /** Reads on until there are more than `count` rows, or all. Resolves to all that were read, as the database had them at one moment. */
  async readBeyond(count: number): Promise<{ readonly rows: readonly Row[]; readonly isComplete: boolean }> {
    const isContinued = this.#pieces !== undefined;
    try {
      return await this.#read(count);
    } catch (error) {
      this.#pieces = undefined;
      // The server closes a cursor that is not read for a minute, and with its connection.
      if (!isContinued || this.#closed.signal.aborted) throw error;
      return this.#read(count);
    }
  }

  /** Closes the cursor. */
  close(): void {
    this.#closed.abort();
  }

  async #read(count: number) {
    if (this.#pieces === undefined) {
      this.#rows = [];
      this.#pieces = this.#client.readSql({ sql: this.#sql }, { signal: this.#closed.signal });
    }
    let isComplete = false;
    while (!isComplete && this.#rows.length <= count) {
      const { value } = await this.#pieces.next();
      this.#rows = [...this.#rows, ...(value?.data ?? [])];
      isComplete = value?.isLast ?? true;
    }
    // The last step ends the connection.
    if (isComplete) await this.#pieces.return();
    return { rows: this.#rows, isComplete };
  }
}

interface Index {
  readonly name: string;
  /** Its columns, and what else the database says about it. */
  readonly definition: string;
  readonly isUnique: boolean;
}

export async function readIndexes(
  client: NodeServerClient,
  { dialect, table }: DialectTable,
  signal: AbortSignal,
): Promise<readonly Index[]> {
  const asked =
    dialect === "sqlite"
      ? { sql: sqliteIndexes, params: [table.holder] }
      : { sql: postgresIndexes, params: [table.space, table.holder] };
  const { data } = await client.call("node-server_exec_sql", asked, { signal });
  return data.map(({ name, definition, is_unique: isUnique }) => ({
    name: String(name),
    definition: String(definition).replace(/^CREATE .*? USING /, ""),
    isUnique: isUnique === undefined ? /^CREATE UNIQUE /.test(String(definition)) : Boolean(isUnique),
  }));
}

/** A column without a name is an expression. */
const sqliteIndexes = `SELECT i.name AS name, i."unique" AS is_unique,
(SELECT group_concat(coalesce(x.name, '…'), ', ') FROM pragma_index_info(i.name) x) AS definition
FROM pragma_index_list(?) i ORDER BY i.name`;

const postgresIndexes = `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE schemaname = CASE $1::text WHEN '' THEN current_schema() ELSE $1::text END AND tablename = $2 ORDER BY 1`;

interface SavedStatement {
  readonly name: string;
  readonly sql: string;
  readonly savedAt: Date;
}

export const maxNameChars = 100;
/** Longest statement that can be saved. */
export const maxSavedChars = 65_536;

/** Namespace of `kv` that the statements are kept in. */
const namespace = "console/statements";

const inserts: Readonly<Record<Dialect, string>> = {
  sqlite: "INSERT INTO kv (namespace, key, value) VALUES (?, ?, ?)",
  postgres: "INSERT INTO kv (namespace, key, value) VALUES ($1, $2, CAST($3::text AS json))",
};

/**
 * Statements that are saved in the server's database, in table `kv`. Whoever may run SQL shares them; pages of buckets, which share
 * the browser's storage with the console, can neither read nor change them (decision 0012).
 */
export class SavedStatements {
  readonly #client: NodeServerClient;
  readonly #dialect: Dialect;

  constructor(client: NodeServerClient, dialect: Dialect) {
    this.#client = client;
    this.#dialect = dialect;
  }

  /** All statements by name. */
  async list(signal?: AbortSignal): Promise<readonly SavedStatement[]> {
    const { data } = await this.#run(
      `SELECT key, value FROM kv WHERE namespace = ${this.#placeholder(1)} ORDER BY key`,
      [namespace],
      signal,
    );
    return data.map(toSaved);
  }

  /** Saves a statement. Without `replace` it returns false, and changes nothing, if the name is taken. */
  async save(name: string, sql: string, { replace }: { readonly replace: boolean }): Promise<boolean> {
    const value = JSON.stringify({ sql, saved_at: Date.now() });
    const conflict = replace ? "DO UPDATE SET value = excluded.value" : "DO NOTHING";
    const statement = `${inserts[this.#dialect]} ON CONFLICT (namespace, key) ${conflict}`;
    return (await this.#run(statement, [namespace, name, value])).row_count > 0;
  }

  async delete(name: string): Promise<void> {
    const [space, key] = [this.#placeholder(1), this.#placeholder(2)];
    await this.#run(`DELETE FROM kv WHERE namespace = ${space} AND key = ${key}`, [namespace, name]);
  }

  #placeholder(number: number): string {
    return this.#dialect === "sqlite" ? "?" : `$${number}`;
  }

  #run(sql: string, params: readonly string[], signal?: AbortSignal) {
    return this.#client.call("node-server_exec_sql", { sql, params }, { signal });
  }
}

/** SQLite returns JSON as text. */
function toSaved({ key, value }: Row): SavedStatement {
  const stored: unknown = typeof value === "string" ? JSON.parse(value) : value;
  const { sql, saved_at: savedAt } = (stored ?? {}) as Record<string, unknown>;
  return { name: String(key), sql: String(sql ?? ""), savedAt: new Date(Number(savedAt ?? 0)) };
}
