import type { Kysely, Transaction } from "kysely";
import type { RowWriter } from "./dump/row-writer.ts";
import type { OperatorSql } from "./operator/operator-sql.ts";
import type { Schema } from "./schema.ts";
import type { ColumnTypes } from "./tables.ts";

/**
 * Dialect is what SQLite and PostgreSQL do differently, each difference as a named member; everything else in `db/` is written
 * once, on top of it. No caller branches on `kind`. Every statement throws a Fault: DatabaseError with the database's message,
 * DatabaseError with the reason `unavailable` if the database cannot be used now, or IoError with the reason `disk_full`.
 */
export interface Dialect {
  readonly kind: "sqlite" | "postgres";
  readonly query: Kysely<Schema>;
  /** The path of the database's file; undefined if another program keeps it. */
  readonly file: string | undefined;
  /** False while the database is known to be lost: it cannot be reached, or its file is missing. */
  readonly isReachable: boolean;
  /** How often the database was lost since it was opened. */
  readonly losses: number;
  /** False if the last write failed because the database accepts none, for a full disk for instance. */
  readonly acceptsWrites: boolean;
  readonly columnTypes: ColumnTypes;

  /**
   * Returns a number that changes with every commit, by this process or another: what was read is still true while it stays the
   * same. Missing where asking for it would cost as much as reading again.
   */
  readonly dataVersion?: () => number;

  /** Tells whether the database has tables of this server: false for an empty one. */
  hasSchema(): Promise<boolean>;

  /** Returns a JSON value in the form in which a statement passes it to a JSON column. */
  json(value: unknown): unknown;
  /** Returns the value of a JSON column that a statement read. */
  fromJson(value: unknown): unknown;

  /**
   * Runs `work` in one transaction. No other exclusive transaction, of this process or another, runs at the same time; other
   * statements may run beside it, on PostgreSQL also writes. It commits when `work` resolves, and rolls back when it rejects.
   */
  exclusively<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;

  /** Makes the next automatic id of a table follow the largest one in it, after a row was inserted with a fixed id. */
  resetIdSequence(transaction: Transaction<Schema>, table: keyof Schema): Promise<void>;

  /**
   * From now on a statement that the database does not answer within `answer_timeout_ms` fails as unavailable. Called once the
   * schema is up to date: a migration may take long.
   */
  limitAnswers(): void;

  /** Writes rows of a backup. */
  readonly rowWriter: RowWriter;

  /** For `node-server_exec_sql` and `node-server_database_storage`. */
  readonly operator: OperatorSql;

  /** Turns a failure to create or change the tables into one that tells an operator what to do. */
  toSetupFault(error: unknown): unknown;

  close(): Promise<void>;
}
