import { Database } from "bun:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { Fault, messageOf } from "../../../base/fault.ts";
import type { Bounds } from "../operator-sql.ts";
import { doubleJson, positionData, RowWriter, resultJson, skipGap } from "../rows.ts";
import { type Binding, fromBinding, refuseWrongParams } from "./bindings.ts";
import { OperatorConnection, type PreparedStatement } from "./operator-connection.ts";

export interface SqliteRequest extends Bounds {
  readonly sql: string;
  readonly bindings: readonly Binding[] | null;
}

/** OnKept is called before each next statement with the number of statements of the request that are committed. */
export type OnKept = (statements: number) => void;

/**
 * SqliteExecutor runs an operator's statements. No transaction, attached file, temporary table, pragma or counter of a request
 * outlives it: the connection is closed afterwards. Only after a single query that changed nothing it is as good as new, and is
 * used again; to open one costs twenty times as much as a small query.
 */
export class SqliteExecutor {
  readonly #path: string;
  #connection: OperatorConnection | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs every statement of a request and returns the result of the last one as JSON. */
  execute({ sql, bindings, maxBytes, limit }: SqliteRequest, onKept: OnKept): string {
    // SQLite would read a NUL as the end of the text.
    if (sql.includes("\0"))
      throw new Fault("InvalidInput", "`sql` contains a NUL character", { field: "sql" });
    let rest = skipGap(sql);
    if (rest === "") throw new Fault("InvalidInput", "there is no statement in `sql`", { field: "sql" });
    const connection = this.#connection ?? new OperatorConnection(this.#path);
    this.#connection = undefined;
    let isAsNew = false;
    try {
      let result = "";
      for (let done = 1; rest !== ""; done += 1) {
        const prepared = connection.prepare(rest);
        refuseWrongParams(bindings, prepared.count, prepared.next !== "");
        const values = prepared.order.map((at) => fromBinding(bindings?.[at] ?? null));
        const outcome = runOne(connection, prepared, values, { maxBytes, limit });
        result = outcome.json;
        rest = prepared.next;
        isAsNew = done === 1 && prepared.isQuery && outcome.isComplete && outcome.affected === 0;
        if (rest !== "" && !connection.isTransaction) onKept(done);
      }
      return result;
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new Fault("DatabaseError", messageOf(error), errorPosition(this.#path, sql, rest));
    } finally {
      if (isAsNew && !connection.isWorn) this.#connection = connection;
      else connection.close();
    }
  }
}

interface Outcome {
  readonly json: string;
  /** The number of rows that were changed. */
  readonly affected: number;
  /** False if there are more rows than were read. */
  readonly isComplete: boolean;
}

function runOne(
  connection: OperatorConnection,
  { statement, hasColumns }: PreparedStatement,
  bindings: SQLInputValue[],
  bounds: Bounds,
): Outcome {
  const before = connection.totalChanges();
  if (!hasColumns) {
    statement.run(...bindings);
    const affected = connection.changesSince(before);
    return { json: resultJson([], affected), affected, isComplete: true };
  }
  // A statement that changes rows and returns them is rolled back if its answer is too large.
  const changes = /^(insert|update|delete|replace|with)\b/i.test(statement.sourceSQL);
  const own = changes && !connection.isTransaction;
  if (own) connection.exec("BEGIN");
  try {
    const writer = readRows(statement, bindings, bounds);
    const affected = connection.changesSince(before);
    if (own) connection.exec("COMMIT");
    const json = writer.toJson(affected > 0 ? affected : writer.count);
    return { json, affected, isComplete: !writer.truncated };
  } catch (error) {
    if (own && connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

function readRows(statement: StatementSync, bindings: SQLInputValue[], bounds: Bounds): RowWriter {
  let writer: RowWriter | undefined;
  let flags: readonly boolean[] = [];
  for (const row of statement.iterate(...bindings)) {
    // Not before the first row: a statement that was prepared before a table changed may have other columns now.
    if (writer === undefined) {
      const columns = statement.columns();
      const names = columns.map(({ name }) => name);
      writer = new RowWriter(names, bounds);
      flags = columns.map(({ type }) => /^bool(ean)?$/i.test(type ?? ""));
    }
    const cells = (row as unknown as unknown[]).map((value, at) => toJson(value, flags[at] === true));
    if (!writer.add(cells)) break;
  }
  return writer ?? new RowWriter([], bounds);
}

function toJson(value: unknown, isFlag: boolean): string {
  if (typeof value === "bigint")
    return isFlag && (value === 0n || value === 1n) ? String(value === 1n) : String(value);
  if (typeof value === "number") return doubleJson(value);
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString("base64")}"`;
  return JSON.stringify(value);
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
