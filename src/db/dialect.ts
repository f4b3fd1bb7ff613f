import type { ColumnType, CompiledQuery, Generated, Kysely, RawBuilder, SqlBool, Transaction } from "kysely";
import type { Clock } from "../base/clock.ts";
import type { PortableValue } from "./dump/portable.ts";
import type { ColumnTypes } from "./migrations/tables.ts";
import type { OperatorSql } from "./operator/operator-sql.ts";
import type { Notifications } from "./postgres/notifications.ts";

/** DatabaseTransaction is an open transaction; other modules only pass it on. */
export type DatabaseTransaction = Transaction<Schema>;

/**
 * Dialect is what SQLite and PostgreSQL do differently, each difference as a named member; everything else in `db/` is written
 * once, on top of it. No caller branches on `kind`. Every statement throws a Fault: DatabaseError with the database's message,
 * DatabaseError with the reason `unavailable` if the database cannot be used now, or IoError with the reason `disk_full`.
 */
export interface Dialect {
  readonly kind: "sqlite" | "postgres";
  readonly query: Kysely<Schema>;
  /** The time of the node that opened the database. */
  readonly clock: Clock;
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

  /**
   * Runs a SELECT synchronously and returns its rows, for what every request asks before it is answered from memory. Missing where
   * the database is another process.
   */
  readonly readSync?: <R>(query: CompiledQuery<R>) => R[];

  /**
   * The time of the database as an SQL expression, in Unix milliseconds. SQLite runs in the node and has the time of its clock, as a
   * parameter: a query that is compiled once needs the parameters of a new expression each time.
   */
  readonly nowMs: RawBuilder<number | bigint>;
  /** The end of a SELECT that locks its rows until the transaction ends; empty where a transaction locks the whole database. */
  readonly forUpdate: RawBuilder<unknown>;
  /**
   * A column of such a SELECT. With it the transaction waits for a row that another one has locked, but not so long that the
   * database would count as silent: it fails as unavailable before. And the database ends the transaction if its node falls
   * silent, so that others wait no longer for its rows.
   */
  readonly boundedWait: RawBuilder<unknown>;

  /** Tells whether the database has tables of this server: false for an empty one. */
  hasSchema(): Promise<boolean>;

  /** Returns a JSON value in the form in which a statement passes it to a JSON column. */
  json(value: unknown): unknown;
  /** Returns a JSON column as an SQL expression in which the members of `changes` replace those of the object. */
  mergeJson(column: string, changes: object): RawBuilder<unknown>;
  /** Returns an integer member of a JSON object as an SQL expression; NULL where the object has none. */
  jsonInteger(column: string, member: string): RawBuilder<number | bigint | null>;
  /** Returns a member of a JSON object as text, as an SQL expression; NULL where the object has none. */
  jsonText(column: string, member: string): RawBuilder<string | null>;
  /** Returns the condition that a text begins with a prefix. Where the collation of the database allows it, an index finds such rows. */
  hasPrefix(column: string, prefix: string): RawBuilder<SqlBool>;
  /** The number that the key of a row of `kv` begins with, as the text of an SQL expression that an index can have. */
  readonly numberOfKey: string;
  /** Whether the value of a row of `kv` is JSON, as the text of an SQL condition: SQLite takes any text. */
  readonly isJson: string;
  /** Returns a text as the text of an SQL expression that compares and sorts by code points, whatever the collation of the database. */
  byCodePoints(expression: string): string;
  /** Returns a JSON column as an SQL expression in which `amount` is added to an integer member of the object. */
  addToJson(column: string, member: string, amount: number): RawBuilder<unknown>;
  /** Returns the value of a JSON column that a statement read. */
  fromJson(value: unknown): unknown;

  /**
   * Runs `work` in one transaction. No other exclusive transaction of the same scope, of this process or another, runs at the
   * same time; other statements may run beside it, on PostgreSQL also writes. It commits when `work` resolves, and rolls back
   * when it rejects. Unavailable if it would have to wait for too long.
   */
  exclusively<T>(scope: Scope, work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;

  /**
   * Runs `work` in one transaction: on SQLite no other one runs at the same time, on PostgreSQL it reads what is committed before each
   * statement. It commits when `work` resolves, and rolls back when it rejects.
   */
  transact<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;

  /** Resolves when everything that was committed before this call survives a power cut. */
  flush(): Promise<void>;

  /**
   * Runs `work` with a connection of its own, outside of the pool, that sees the state in which the database is when `work` begins,
   * whatever is written meanwhile. It holds no writer up; but what a long reading still sees cannot be cleared away by the database.
   */
  readSnapshot<T>(work: (snapshot: Kysely<Schema>) => Promise<T>): Promise<T>;

  /** Makes the next automatic id of a table follow the largest one in it, after a row was inserted with a fixed id. */
  resetIdSequence(transaction: Transaction<Schema>, table: keyof Schema): Promise<void>;

  /**
   * From now on a statement that the database does not answer within `timeout_ms` fails as unavailable. Called once the
   * schema is up to date: a migration may take long.
   */
  limitAnswers(): void;

  /** Hints of changes, to and from the other nodes. */
  readonly notifications: Notifications;

  /** Writes rows of a backup. */
  readonly rowWriter: RowWriter;

  /** For `node-server_exec_sql` and `node-server_database_storage`. */
  readonly operator: OperatorSql;

  /** Turns a failure to create or change the tables into one that tells an operator what to do. */
  toSetupFault(error: unknown): unknown;

  close(): Promise<void>;
}

/**
 * Scope names what an exclusive transaction is about: those of one scope take turns on all nodes, those of different scopes do
 * not wait for each other. All scopes are made here. No transaction takes two of them, so none can wait in a circle.
 */
export type Scope = string & { readonly brand: unique symbol };

const scope = (name: string) => name as Scope;

/** The tables themselves: nothing else is exclusive at the same time. */
export const schemaScope = scope("schema");
/** The Super Token. */
export const superTokenScope = scope("super-token");
/** The records of all buckets: names, paths and the HTTP root of each must not conflict with those of any other. */
export const bucketsScope = scope("buckets");
/** The row that ties the database to the store of its files. */
export const storeScope = scope("store");

/** `taskScope` names the lock of a task that one node does for all. */
export function taskScope(task: string): Scope {
  return scope(`task/${task}`);
}

/** `namespaceScope` is one namespace of `kv`: the locks of one bucket, for instance. */
export function namespaceScope(namespace: string): Scope {
  return scope(`kv/${namespace}`);
}

/**
 * `lockKey` returns the number of a scope's advisory lock in PostgreSQL, equal on all nodes and in all versions. Scopes whose numbers
 * are equal by chance would only take turns.
 */
export function lockKey(scope: Scope): bigint {
  const digest = new Bun.CryptoHasher("sha256").update(`node-server/${scope}`).digest();
  return digest.readBigInt64BE(0);
}

/** JSON text on SQLite, `jsonb` on PostgreSQL: written with `Dialect.json`, read with `Dialect.fromJson`. */
type Json = ColumnType<unknown, unknown, unknown>;
/** 0 or 1 on SQLite, a boolean on PostgreSQL: read with `Boolean`. */
type Flag = ColumnType<number | boolean, boolean, boolean>;
/** A number on SQLite, a bigint on PostgreSQL: read with `Number`. */
type Big = ColumnType<number | bigint, number, number>;
type MaybeBig = ColumnType<number | bigint | null, number | null, number | null>;

/** Schema has the columns that the server itself reads and writes; `tables.ts` and the later migrations have all of them. */
export interface Schema {
  token: {
    id: Generated<number | bigint>;
    version: Generated<number>;
    token_key: string;
    token_hash: string;
    time_stamp_from: MaybeBig;
    time_stamp_to: MaybeBig;
    token_limit: Json;
    username: string | null;
    password_hash: string | null;
    created_by: string | null;
    /** `skeletonOf` the user name; null without one, and if an older token has a similar name. */
    username_skeleton: string | null;
    name: string | null;
    created_at: MaybeBig;
    last_used_at: MaybeBig;
  };
  monitoring_uuid: {
    id: Generated<number | bigint>;
    uuid: string;
    soft_delete: Flag;
  };
  static_file: {
    id: Generated<number | bigint>;
    name: string;
    path: string;
    is_http_root: Flag;
    cors: Flag;
    enable: ColumnType<number | boolean | null, boolean, boolean>;
    public: Flag;
    /** A list of host names; null for none. */
    hosts: Json;
    clean_urls: Flag;
  };
  kv: {
    id: Generated<number | bigint>;
    namespace: string;
    key: string;
    value: Json;
  };
  seaql_migrations: {
    version: string;
    applied_at: Big;
  };
}

/** WritableColumn is a column of a table that rows are written to. */
export interface WritableColumn {
  readonly name: string;
  /** The SQL around a parameter: a cast where the database needs one. */
  expression(parameter: string): string;
  /** The value of the parameter. */
  bind(value: PortableValue): unknown;
}

/** RowWriter is how a database takes rows in the portable form. */
export interface RowWriter {
  /** The columns of a table; none if there is no such table. */
  columns(query: Kysely<Schema>, table: string): Promise<readonly WritableColumn[]>;
  /** The placeholder of the parameter with this number, counted from 1. */
  parameter(number: number): string;
  /** Makes the next automatic id of a table follow `lastId`. */
  setLastId(transaction: Transaction<Schema>, table: string, lastId: string): Promise<void>;
}
