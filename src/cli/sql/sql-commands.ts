import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { DatabaseError, type SqlRows } from "../../client/index.ts";
import { WrongUsage } from "../errors.ts";

/** Ask runs a statement. */
type Ask = (statement: string) => Promise<SqlRows>;

export const sqlHelp = `A statement may have several lines and ends with ;
\\dt        list the tables and views
\\d TABLE   show the columns and indexes of a table
\\?         show this help
Ctrl+C clears the input or stops a running statement, Ctrl+D or \\q leaves.
`;

/** DescribeResult is what a backslash command found. */
export interface DescribeResult {
  readonly rows: SqlRows;
  readonly indexes?: SqlRows;
}

/**
 * `readCommands` returns the backslash commands of a text, one a line; undefined if the text is SQL. No statement begins with a
 * backslash or, as commands of the sqlite3 shell do, with a dot.
 */
export function readCommands(text: string): readonly string[] | undefined {
  const lines = text.split("\n").map((line) => line.trim().replace(/\s*;$/, ""));
  const written = lines.filter((line) => line !== "");
  if (!/^[\\.]/.test(written[0] ?? "")) return undefined;
  for (const line of written) {
    if (!/^[\\.]/.test(line))
      throw new WrongUsage("backslash commands and statements cannot be mixed; run them one after the other");
    if (!/^\\(\?|dt|d(\s.*)?)$/.test(line))
      throw new WrongUsage(`unknown command ${visible(line.split(/\s/, 1)[0] ?? "")}; \\? helps`);
  }
  return written;
}

/** Answers `\dt` or `\d TABLE`. */
export async function describe(ask: Ask, command: string): Promise<DescribeResult> {
  const name = command.slice("\\d".length).trim();
  const catalogue = (await isSqlite(ask)) ? sqlite : postgres;
  // \d alone is \dt, as in psql.
  if (name === "" || command === "\\dt") return { rows: await ask(catalogue.tables) };
  const literal = `'${name.replaceAll("'", "''")}'`;
  const rows = await ask(catalogue.columns(literal));
  if (rows.data.length === 0)
    throw new Fault("Other", `there is no table ${visible(name)}; \\dt lists the tables`);
  return { rows, indexes: await ask(catalogue.indexes(literal)) };
}

/** Asks in SQL, because a token that may run SQL need not have the permission for `get_database_type`. */
async function isSqlite(ask: Ask): Promise<boolean> {
  try {
    await ask("SELECT sqlite_version() AS version");
    return true;
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}

interface Catalogue {
  readonly tables: string;
  columns(table: string): string;
  indexes(table: string): string;
}

const sqlite: Catalogue = {
  tables: `SELECT name, type FROM sqlite_schema
    WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name`,
  columns: (table) => `SELECT name AS "column", type,
      CASE WHEN "notnull" OR (pk AND type = 'INTEGER') THEN 'no' ELSE 'yes' END AS nullable,
      dflt_value AS "default"
    FROM pragma_table_xinfo(trim(${table}, '"')) WHERE hidden <> 1 ORDER BY cid`,
  indexes: (table) => `SELECT list.name AS "index",
      CASE WHEN origin = 'pk' THEN 'primary key' WHEN "unique" THEN 'unique' ELSE '' END AS kind,
      (SELECT group_concat(coalesce(name, '(expression)'), ', ')
        FROM (SELECT name FROM pragma_index_info(list.name) ORDER BY seqno)) AS columns
    FROM pragma_index_list(trim(${table}, '"')) AS list ORDER BY list.name`,
};

const postgres: Catalogue = {
  tables: `SELECT relname AS name,
      CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'table' END AS type
    FROM pg_class JOIN pg_namespace AS schema ON schema.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'f', 'v', 'm') AND pg_table_is_visible(pg_class.oid)
      AND nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY relname`,
  columns: (table) => `SELECT attname AS "column", format_type(atttypid, atttypmod) AS type,
      CASE WHEN attnotnull THEN 'no' ELSE 'yes' END AS nullable,
      pg_get_expr(adbin, adrelid) AS "default"
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = to_regclass(${table}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
  indexes: (table) => `SELECT relname AS "index",
      CASE WHEN indisprimary THEN 'primary key' WHEN indisunique THEN 'unique' ELSE '' END AS kind,
      (SELECT string_agg(pg_get_indexdef(indexrelid, at, true), ', ' ORDER BY at)
        FROM generate_series(1, indnkeyatts) AS at) AS columns
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = to_regclass(${table}) ORDER BY relname`,
};
