import { type ControlledTransaction, sql } from "kysely";
import { Fault } from "../../base/fault.ts";
import type { Dialect } from "../dialect.ts";
import { lockSchema, sessionName } from "../postgres/postgres.ts";
import type { Schema } from "../schema.ts";
import type { DatabaseShape, DatabaseSnapshot } from "./portable.ts";
import { readSnapshot } from "./postgres-snapshot.ts";
import { type InsertRows, type LoadReport, type LoadTarget, loadTables } from "./table-loader.ts";

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
const lookEveryMs = 100;

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
    await Bun.sleep(lookEveryMs);
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
