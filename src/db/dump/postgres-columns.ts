import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Schema } from "../schema.ts";

/** PostgresColumn is a column as PostgreSQL has it. */
export interface PostgresColumn {
  readonly name: string;
  /** As `information_schema` names it: `bigint`, `jsonb`, `bytea`, … */
  readonly type: string;
  /** The expression that reads it: text that keeps every digit, base64 for bytes, a boolean as it is. */
  readonly read: RawBuilder<unknown>;
}

/** `postgresColumns` are the columns of a table of the current schema in their order; none if there is no such table. */
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
