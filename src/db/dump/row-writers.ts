import { type Kysely, type RawBuilder, sql } from "kysely";
import type { RowWriter, Schema } from "../dialect.ts";
import type { PortableValue } from "./portable.ts";

/** PostgresColumn is a column as PostgreSQL has it. */
export interface PostgresColumn {
  readonly name: string;
  /** As `information_schema` names it: `bigint`, `jsonb`, `bytea`, … */
  readonly type: string;
  /** The expression that reads it: text that keeps every digit, base64 for bytes, a boolean as it is. */
  readonly read: RawBuilder<unknown>;
}

/** `postgresColumns` returns the columns of a table of the current schema in their order; none if there is no such table. */
export async function postgresColumns(query: Kysely<Schema>, table: string): Promise<PostgresColumn[]> {
  const { rows } = await sql<{ name: string; type: string }>`
    SELECT column_name AS name, data_type AS type FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = ${table} ORDER BY ordinal_position`.execute(query);
  return rows.map(({ name, type }) => ({ name, type, read: readExpression(name, type) }));
}

function readExpression(name: string, type: string): RawBuilder<unknown> {
  if (type === "boolean") return sql`${sql.ref(name)}`;
  // PostgreSQL breaks base64 into lines.
  if (type === "bytea") return sql`translate(encode(${sql.ref(name)}, 'base64'), E'\n', '')`;
  return sql`cast(${sql.ref(name)} as text)`;
}

/** `postgresRowWriter` passes every value as text and has PostgreSQL convert it: its own parser refuses what does not fit. */
export const postgresRowWriter: RowWriter = {
  async columns(query, table) {
    return (await postgresColumns(query, table)).map(({ name, type }) => ({
      name,
      expression: (parameter: string) =>
        type === "bytea"
          ? `decode(cast(${parameter} as text), 'base64')`
          : `cast(cast(${parameter} as text) as ${type})`,
      bind: bindPostgres,
    }));
  },
  parameter: (number) => `$${number}`,
  async setLastId(transaction, table, lastId) {
    const [value, isUsed] = lastId === "0" ? ["1", false] : [lastId, true];
    await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), cast(cast(${value} as text) as bigint), ${sql.lit(isUsed)})`.execute(
      transaction,
    );
  },
};

function bindPostgres(value: PortableValue): string | null {
  if (value === null) return null;
  if (typeof value !== "object") return String(value);
  if ("integer" in value) return value.integer;
  return "real" in value ? value.real : value.blob;
}

export const sqliteRowWriter: RowWriter = {
  async columns(query, table) {
    const { rows } = await sql<{ name: string }>`
      SELECT name FROM pragma_table_info(${table}) ORDER BY cid`.execute(query);
    return rows.map(({ name }) => ({ name, expression: (parameter: string) => parameter, bind: bindSqlite }));
  },
  parameter: () => "?",
  async setLastId(transaction, table, lastId) {
    await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(transaction);
    if (lastId !== "0")
      await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${BigInt(lastId)})`.execute(
        transaction,
      );
  },
};

function bindSqlite(value: PortableValue): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "object" || value === null) return value;
  if ("integer" in value) return BigInt(value.integer);
  return "real" in value ? Number(value.real) : Buffer.from(value.blob, "base64");
}
