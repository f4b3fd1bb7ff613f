import { type ControlledTransaction, sql } from "kysely";
import { Fault } from "../../base/fault.ts";
import type { Dialect, Schema } from "../dialect.ts";
import { businessTables } from "../migrations/tables.ts";
import { lockSchema, sessionName } from "../postgres/postgres.ts";
import {
  batchBytes,
  type DatabaseShape,
  type DatabaseSnapshot,
  minifyJson,
  type PortableRow,
  type PortableValue,
  portableInteger,
  type TableShape,
} from "./portable.ts";
import { type PostgresColumn, postgresColumns } from "./row-writers.ts";
import { type InsertRows, type LoadReport, type LoadTarget, loadTables } from "./table-loader.ts";

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
async function readSnapshot(transaction: Transaction, close: () => Promise<void>): Promise<DatabaseSnapshot> {
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

const lockNotAvailable = "55P03";

/** PostgresLoadTarget replaces the tables in one transaction. */
export class PostgresLoadTarget implements LoadTarget {
  readonly #dialect: Dialect;
  readonly #transaction: ControlledTransaction<Schema>;

  private constructor(dialect: Dialect, transaction: ControlledTransaction<Schema>) {
    this.#dialect = dialect;
    this.#transaction = transaction;
  }

  /** Takes over the dialect, which is closed with this target. */
  static async open(dialect: Dialect): Promise<PostgresLoadTarget> {
    try {
      await refuseOthers(dialect);
      const transaction = await dialect.query.startTransaction().execute();
      const target = new PostgresLoadTarget(dialect, transaction);
      // A session that is idle in a transaction would hold this one up for ever.
      await sql`SET LOCAL lock_timeout = '10s'`.execute(transaction);
      await lockSchema(transaction);
      return target;
    } catch (error) {
      await dialect.close();
      throw error;
    }
  }

  async load(shape: DatabaseShape, work: (insert: InsertRows) => Promise<void>): Promise<LoadReport> {
    try {
      return await loadTables(this.#dialect, this.#transaction, { shape, work });
    } catch (error) {
      if (error instanceof Fault && error.data.sqlstate === lockNotAvailable)
        throw new Fault("DatabaseError", "another session has locked the tables; end it and try again");
      throw this.#dialect.toSetupFault(error);
    }
  }

  loaded(): Promise<DatabaseSnapshot> {
    return readSnapshot(this.#transaction, async () => {});
  }

  async commit(): Promise<undefined> {
    await refuseOthers(this.#dialect, this.#transaction);
    await this.#transaction.commit().execute();
    await this.#dialect.close();
  }

  async discard(): Promise<void> {
    // A COMMIT that failed has ended the transaction.
    if (!this.#transaction.isCommitted) await this.#transaction.rollback().execute();
    await this.#dialect.close();
  }
}

/** PostgreSQL shows a session for a moment after its client has closed the connection. */
const endedSessionMs = 3000;
const pollIntervalMs = 100;

/** `refuseOthers` throws if a server uses the database. PostgreSQL has no lock of a running server, but its sessions show one. */
export async function refuseOthers(
  { query }: Dialect,
  on: ControlledTransaction<Schema> | Dialect["query"] = query,
): Promise<void> {
  const deadline = performance.now() + endedSessionMs;
  for (;;) {
    const other = await findOthers(on);
    if (other === undefined) return;
    if (performance.now() > deadline)
      throw new Fault(
        "DatabaseError",
        `a node-server uses this database (${other.count} connections from ${other.client}); stop it first`,
      );
    await Bun.sleep(pollIntervalMs);
  }
}

async function findOthers(on: ControlledTransaction<Schema> | Dialect["query"]) {
  // Within a transaction PostgreSQL would show the same sessions again.
  await sql`SELECT pg_stat_clear_snapshot()`.execute(on);
  const { rows } = await sql<{ client: string | null; count: bigint }>`
    SELECT coalesce(host(client_addr), 'this machine') AS client, count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ${sessionName}
    GROUP BY 1`.execute(on);
  return rows[0];
}
