import type { Kysely, Transaction } from "kysely";
import type { OperatorSql } from "./operator/operator-sql.ts";
import type { Schema } from "./schema.ts";
import type { ColumnTypes } from "./tables.ts";

/** What the two databases do differently, each under a name. Everything else is written once, above it. */
export interface Dialect {
  readonly kind: "sqlite" | "postgres";
  readonly query: Kysely<Schema>;
  readonly columnTypes: ColumnTypes;

  /** Whether the schema was made already: false for an empty database. */
  hasSchema(): Promise<boolean>;

  /** A JSON value as this database takes it for a JSON column. */
  json(value: unknown): unknown;
  /** A JSON column as this database returns it. */
  fromJson(value: unknown): unknown;

  /** Runs `work` in one transaction that no other process can interleave with. */
  exclusively<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;

  /** Makes the next automatic id of a table follow the largest one in it. */
  resetIdSequence(transaction: Transaction<Schema>, table: keyof Schema): Promise<void>;

  /**
   * From now on a statement fails as unavailable when the database leaves it unanswered for `answer_timeout_ms`. Not before the
   * schema is up to date: a migration may take long.
   */
  limitAnswers(): void;

  /** For `node-server_exec_sql` and `node-server_database_storage`. */
  readonly operator: OperatorSql;

  /** A failure to make or change the tables, with what an operator needs to know about it. */
  toSetupFault(error: unknown): unknown;

  close(): Promise<void>;
}
