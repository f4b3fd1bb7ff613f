import { type ControlledTransaction, sql } from "kysely";
import { Fault } from "../../base/fault.ts";
import type { Dialect } from "../dialect.ts";
import { businessTables } from "../migrations/tables.ts";
import type { Schema } from "../schema.ts";
import {
  batchBytes,
  type DatabaseSnapshot,
  minifyJson,
  type PortableRow,
  type PortableValue,
  portableInteger,
  type TableShape,
} from "./portable.ts";
import { type PostgresColumn, postgresColumns } from "./postgres-columns.ts";

type Transaction = ControlledTransaction<Schema>;

/** The number of rows that are fetched first; later fetches are sized by the rows that were seen. */
const firstRows = 20;
const maxRows = 5000;

/** `openPostgresSnapshot` reads in one REPEATABLE READ transaction. Closing it closes the dialect. */
export async function openPostgresSnapshot(dialect: Dialect): Promise<DatabaseSnapshot> {
  const transaction = await dialect.query.startTransaction().execute();
  const close = async () => {
    await transaction.rollback().execute();
    await dialect.close();
  };
  try {
    await sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`.execute(transaction);
    return await readSnapshot(transaction, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** `readSnapshot` reads what `transaction` sees. `close` is what closing the snapshot does. */
export async function readSnapshot(
  transaction: Transaction,
  close: () => Promise<void>,
): Promise<DatabaseSnapshot> {
  const { rows: found } = await sql<{ name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`.execute(
    transaction,
  );
  const names = found.map(({ name }) => name);
  if (!names.includes("seaql_migrations"))
    throw new Fault("DatabaseError", "the database is empty; there is nothing to copy");
  const migrations = await transaction
    .selectFrom("seaql_migrations")
    .select(["version", "applied_at"])
    .orderBy(sql`version COLLATE "C"`)
    .execute();
  const columns = new Map<string, readonly PostgresColumn[]>();
  const tables: TableShape[] = [];
  for (const name of businessTables) {
    const own = await postgresColumns(transaction, name);
    if (own.length === 0) throw new Fault("DatabaseError", `the database has no table ${name}`);
    columns.set(name, own);
    tables.push({ name, columns: own.map(({ name }) => name), lastId: await lastIdOf(transaction, name) });
  }
  return {
    kind: "postgres",
    migrations: migrations.map(({ version, applied_at }) => ({ version, applied_at: Number(applied_at) })),
    tables,
    otherTables: names.filter((name) => name !== "seaql_migrations" && !businessTables.includes(name)),
    jsonColumns: new Set(
      [...columns].flatMap(([table, own]) =>
        own.filter(({ type }) => type === "json" || type === "jsonb").map(({ name }) => `${table}.${name}`),
      ),
    ),
    rows: ({ name }) => readRows(transaction, name, columns.get(name) ?? []),
    close,
  };
}

async function lastIdOf(transaction: Transaction, table: string): Promise<string> {
  const { rows: named } = await sql<{ name: string | null }>`
    SELECT pg_get_serial_sequence(${table}, 'id') AS name`.execute(transaction);
  const sequence = named[0]?.name;
  if (sequence == null) throw new Fault("DatabaseError", `the column id of ${table} has no sequence`);
  const { rows } = await sql<{ last_value: bigint; is_called: boolean }>`
    SELECT last_value, is_called FROM ${sql.raw(sequence)}`.execute(transaction);
  const [found] = rows;
  return found?.is_called ? String(found.last_value) : "0";
}

async function* readRows(
  transaction: Transaction,
  table: string,
  columns: readonly PostgresColumn[],
): AsyncGenerator<readonly PortableRow[]> {
  const list = sql.join(columns.map(({ name, read }) => sql`${read} AS ${sql.ref(name)}`));
  // `ORDER BY id` alone would be the text of that name in the list.
  const order = sql.ref(`${table}.id`);
  await sql`DECLARE dump NO SCROLL CURSOR FOR SELECT ${list} FROM ${sql.table(table)} ORDER BY ${order}`.execute(
    transaction,
  );
  for (let count = firstRows; ; ) {
    const { rows } = await sql<Record<string, unknown>>`FETCH ${sql.lit(count)} FROM dump`.execute(
      transaction,
    );
    if (rows.length > 0)
      yield rows.map((row) => columns.map(({ name, type }) => toPortable(row[name], type)));
    if (rows.length < count) break;
    count = Math.min(maxRows, count * 2, Math.max(1, Math.floor(batchBytes / meanBytes(rows))));
  }
  await sql`CLOSE dump`.execute(transaction);
}

function meanBytes(rows: readonly Readonly<Record<string, unknown>>[]): number {
  let bytes = 0;
  for (const row of rows)
    for (const value of Object.values(row)) bytes += typeof value === "string" ? value.length : 8;
  return Math.max(1, bytes / rows.length);
}

function toPortable(value: unknown, type: string): PortableValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value;
  const text = String(value);
  switch (type) {
    case "bigint":
    case "integer":
    case "smallint":
      return portableInteger(BigInt(text));
    case "json":
    case "jsonb":
      return minifyJson(text);
    case "bytea":
      return { blob: text };
    case "real":
    case "double precision":
      return { real: text };
    default:
      return text;
  }
}
