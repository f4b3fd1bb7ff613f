import { Database } from "bun:sqlite";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Fault, messageOf } from "../../../base/fault.ts";
import { exactJson } from "../../../base/raw-json.ts";
import type { Bounds } from "../operator-sql.ts";
import { doubleJson, positionData, RowWriter, resultJson, skipGap } from "../rows.ts";
import { numberPlaceholders } from "./placeholders.ts";

export interface SqliteRequest extends Bounds {
  readonly path: string;
  readonly sql: string;
  readonly bindings: readonly Binding[] | null;
}

/** OnKept is called before each next statement with the number of statements of the request that are committed. */
export type OnKept = (statements: number) => void;

/**
 * `executeSqlite` runs an operator's statements on a connection of their own, which is closed afterwards: no transaction, attached
 * file, temporary table or pragma of theirs outlives the call.
 */
export function executeSqlite(request: SqliteRequest, onKept: OnKept = () => {}): string {
  // Without `mode=rw` SQLite would create a file that does not exist, readable by everybody.
  const file = pathToFileURL(request.path);
  file.searchParams.set("mode", "rw");
  const connection = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true });
  try {
    return runAll(connection, request, onKept);
  } finally {
    connection.close();
  }
}

/** `runAll` runs every statement and returns the result of the last one. */
function runAll(connection: DatabaseSync, request: SqliteRequest, onKept: OnKept): string {
  const { path, sql, bindings, ...bounds } = request;
  // SQLite would read a NUL as the end of the text.
  if (sql.includes("\0")) throw new Fault("InvalidInput", "`sql` contains a NUL character", { field: "sql" });
  let rest = skipGap(sql);
  if (rest === "") throw new Fault("InvalidInput", "there is no statement in `sql`", { field: "sql" });
  let result = "";
  for (let done = 1; rest !== ""; done += 1) {
    try {
      const { sourceSQL } = connection.prepare(rest);
      const next = skipGap(rest.slice(sourceSQL.length));
      const { sql: plain, order, count } = numberPlaceholders(sourceSQL);
      refuseWrongParams(bindings, count, next !== "");
      const values = order.map((at) => fromBinding(bindings?.[at] ?? null));
      result = runOne(connection, connection.prepare(plain), values, bounds);
      rest = next;
      if (rest !== "" && !connection.isTransaction) onKept(done);
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new Fault("DatabaseError", messageOf(error), errorPosition(path, sql, rest));
    }
  }
  return result;
}

function runOne(
  connection: DatabaseSync,
  statement: StatementSync,
  bindings: SQLInputValue[],
  bounds: Bounds,
): string {
  statement.setReadBigInts(true);
  const columns = statement.columns();
  const before = counters(connection);
  if (columns.length === 0) {
    statement.run(...bindings);
    return resultJson([], affectedSince(before, connection));
  }
  // A statement that changes rows and returns them is rolled back if its answer is too large.
  const changes = /^(insert|update|delete|replace|with)\b/i.test(statement.sourceSQL);
  const own = changes && !connection.isTransaction;
  if (own) connection.exec("BEGIN");
  try {
    const writer = readRows(statement, bindings, columns, bounds);
    const affected = affectedSince(before, connection);
    if (own) connection.exec("COMMIT");
    return writer.toJson(affected > 0 ? affected : writer.count);
  } catch (error) {
    if (own && connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

function readRows(
  statement: StatementSync,
  bindings: SQLInputValue[],
  columns: Column[],
  bounds: Bounds,
): RowWriter {
  const writer = new RowWriter(
    columns.map(({ name }) => name),
    bounds,
  );
  const flags = columns.map(({ type }) => /^bool(ean)?$/i.test(type ?? ""));
  statement.setReturnArrays(true);
  for (const row of statement.iterate(...bindings)) {
    const cells = (row as unknown as unknown[]).map((value, at) => toJson(value, flags[at] === true));
    if (!writer.add(cells)) break;
  }
  return writer;
}

type Column = ReturnType<StatementSync["columns"]>[number];

/** `counters` returns the rows changed by the last statement (without its triggers), and all rows changed so far. */
function counters(connection: DatabaseSync): { readonly last: number; readonly total: number } {
  const row = connection.prepare("SELECT changes() AS last, total_changes() AS total").get();
  return { last: Number(row?.last), total: Number(row?.total) };
}

/**
 * `affectedSince` is the row count of the last statement. (`changes()` keeps the count of an earlier statement if this one changed
 * nothing.)
 */
function affectedSince(before: { readonly total: number }, connection: DatabaseSync): number {
  const after = counters(connection);
  return after.total === before.total ? 0 : after.last;
}

function toJson(value: unknown, isFlag: boolean): string {
  if (typeof value === "bigint")
    return isFlag && (value === 0n || value === 1n) ? String(value === 1n) : String(value);
  if (typeof value === "number") return doubleJson(value);
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString("base64")}"`;
  return JSON.stringify(value);
}

/** Binding is a parameter on its way to the child; integers as digits, because JSON would round them to 53 bits. */
export type Binding = null | { readonly text: string } | { readonly real: number } | { readonly int: string };

/** `toBinding` accepts every JSON type: arrays and objects become their JSON text. */
export function toBinding(value: unknown, at: number): Binding {
  if (value === null) return null;
  if (typeof value === "string") return { text: value };
  if (typeof value === "boolean") return { int: value ? "1" : "0" };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { int: String(value) } : { real: value };
  if (typeof value !== "bigint") return { text: exactJson(value) };
  if (BigInt.asIntN(64, value) === value) return { int: String(value) };
  throw new Fault("InvalidInput", `params[${at}] does not fit into 64 bits; give it as text`, {
    field: `params.${at}`,
  });
}

function fromBinding(binding: Binding): SQLInputValue {
  if (binding === null) return null;
  if ("text" in binding) return binding.text;
  return "int" in binding ? BigInt(binding.int) : binding.real;
}

function refuseWrongParams(bindings: readonly Binding[] | null, count: number, more: boolean): void {
  if (bindings !== null && more)
    throw new Fault("InvalidInput", "params are possible with a single statement only", { field: "params" });
  const given = bindings?.length ?? 0;
  if (count === given) return;
  throw new Fault("InvalidInput", `the statement has ${count} placeholders, but ${given} params were given`, {
    field: "params",
  });
}

/** `errorPosition` finds where a statement has a syntax error, with Bun's SQLite: node's does not report it. */
function errorPosition(path: string, sql: string, rest: string): Record<string, number> {
  try {
    using metadata = new Database(path, { readonly: true });
    metadata.prepare(rest).finalize();
    return {};
  } catch (error) {
    const bytes = error instanceof Error && "byteOffset" in error ? Number(error.byteOffset) : -1;
    if (bytes < 0) return {};
    return positionData(
      sql,
      sql.length - rest.length + Buffer.from(rest).subarray(0, bytes).toString().length,
    );
  }
}

/**
 * `sqliteTableSizes` returns the size of each table's own pages in bytes. In aggregate mode dbstat walks one b-tree for a name;
 * queried for several names at once it would walk every page of the file.
 */
export function sqliteTableSizes(path: string): Array<[name: string, bytes: number]> {
  using file = new Database(path, { readonly: true });
  const tables = file
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all();
  const size = file.query<{ bytes: number | null }, [string]>(
    "SELECT sum(pgsize) AS bytes FROM dbstat WHERE aggregate = TRUE AND name = ?",
  );
  return tables.map(({ name }) => [name, size.get(name)?.bytes ?? 0]);
}
