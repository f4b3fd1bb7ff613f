import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  sql,
  type Transaction,
} from "kysely";
import { millisecondsSince } from "../base/clock.ts";
import { FairSemaphore } from "../base/concurrency.ts";
import { messageOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import type { Schema } from "./dialect.ts";
import { unavailable } from "./unavailable.ts";

/** Execute runs one statement on one connection. Throws a `Fault` with the database's own message. */
export type Execute = (sql: string, params: readonly unknown[]) => Promise<QueryResult<unknown>>;

/** ReservedConnection is a connection that is used for one transaction only, until `release`. */
export interface ReservedConnection {
  readonly execute: Execute;
  release(): void;
}

/** ConnectionSource provides the connections of a driver. */
export interface ConnectionSource {
  /** Runs a single statement. */
  readonly execute: Execute;
  /** Runs a single SELECT without taking a permit. A source without it runs them by `execute`. */
  readonly read?: Execute;
  /** Reserves a connection for a transaction. */
  reserve(): Promise<ReservedConnection>;
  /** The statement that begins a transaction. */
  readonly begin: string;
  close(): Promise<void>;
}

/** StatementObserver sees every statement when it has ended; `startedAt` is `performance.now()`, `error` undefined for a success. */
export interface StatementObserver {
  ended(startedAt: number, error: unknown): void;
}

interface PooledDriverOptions {
  /** The number of statements and transactions that may run at once. */
  readonly connections: number;
  readonly acquireTimeoutMs: number;
  readonly log: Logger;
  readonly observer?: StatementObserver | undefined;
}

/**
 * PooledDriver is kysely's driver for both databases: a bounded number of statements at once, a bounded wait for a connection, and
 * every statement in the log at TRACE (without its values). Of several connections, transactions leave one to single statements: the
 * work of a transaction may wait for such a statement, and would otherwise wait for itself.
 */
export class PooledDriver implements Driver {
  readonly #source: ConnectionSource;
  readonly #acquireTimeoutMs: number;
  readonly #log: Logger;
  readonly #semaphore: FairSemaphore;
  /** Undefined with a single connection. */
  readonly #transactions: FairSemaphore | undefined;
  readonly observer: StatementObserver | undefined;

  constructor(source: ConnectionSource, options: PooledDriverOptions) {
    const { connections, acquireTimeoutMs, log, observer } = options;
    this.#source = source;
    this.observer = observer;
    this.#acquireTimeoutMs = acquireTimeoutMs;
    this.#log = log;
    this.#semaphore = new FairSemaphore(connections);
    this.#transactions = connections > 1 ? new FairSemaphore(connections - 1) : undefined;
  }

  async init(): Promise<void> {}

  /** Takes no permit yet: only the statement shows whether one is needed. */
  async acquireConnection(): Promise<SourceConnection> {
    return new SourceConnection(this.#source, this, this.#log);
  }

  async releaseConnection(connection: SourceConnection): Promise<void> {
    connection.release();
  }

  async beginTransaction(connection: SourceConnection): Promise<void> {
    await connection.reserve();
    await connection.run(this.#source.begin, []);
  }

  async commitTransaction(connection: SourceConnection): Promise<void> {
    await connection.run("COMMIT", []);
  }

  /**
   * Does not throw: kysely would report the failed ROLLBACK instead of the error that led to it. After some errors (a full disk, a
   * lost connection) the database has already ended the transaction, and ROLLBACK always fails.
   */
  async rollbackTransaction(connection: SourceConnection): Promise<void> {
    try {
      await connection.run("ROLLBACK", []);
    } catch (error) {
      this.#log.debug("a ROLLBACK failed", { reason: messageOf(error) });
    }
  }

  destroy(): Promise<void> {
    return this.#source.close();
  }

  async acquirePermit(): Promise<void> {
    await this.#acquire(this.#semaphore);
  }

  releasePermit(): void {
    this.#semaphore.release();
  }

  async acquireTransactionPermit(): Promise<void> {
    if (this.#transactions !== undefined) await this.#acquire(this.#transactions);
    try {
      await this.acquirePermit();
    } catch (error) {
      this.#transactions?.release();
      throw error;
    }
  }

  giveTransactionPermit(): void {
    this.releasePermit();
    this.#transactions?.release();
  }

  async #acquire(semaphore: FairSemaphore): Promise<void> {
    if (await semaphore.acquire({ timeoutMs: this.#acquireTimeoutMs })) return;
    throw unavailable(
      undefined,
      `no database connection came free within ${this.#acquireTimeoutMs} ms (timeout_ms)`,
    );
  }
}

class SourceConnection implements DatabaseConnection {
  readonly #source: ConnectionSource;
  readonly #driver: PooledDriver;
  readonly #log: Logger;
  #reserved: ReservedConnection | undefined;

  constructor(source: ConnectionSource, driver: PooledDriver, log: Logger) {
    this.#source = source;
    this.#driver = driver;
    this.#log = log;
  }

  async reserve(): Promise<void> {
    await this.#driver.acquireTransactionPermit();
    try {
      this.#reserved = await this.#source.reserve();
    } catch (error) {
      this.#driver.giveTransactionPermit();
      throw error;
    }
  }

  release(): void {
    if (this.#reserved === undefined) return;
    const reserved = this.#reserved;
    this.#reserved = undefined;
    try {
      reserved.release();
    } finally {
      this.#driver.giveTransactionPermit();
    }
  }

  executeQuery<R>(compiled: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters, query } = compiled;
    return this.run(sql, parameters, query.kind === "SelectQueryNode") as Promise<QueryResult<R>>;
  }

  async run(sql: string, params: readonly unknown[], reads = false): Promise<QueryResult<unknown>> {
    const start = performance.now();
    let result: QueryResult<unknown>;
    try {
      result = await this.#run(sql, params, reads);
      this.#driver.observer?.ended(start, undefined);
    } catch (error) {
      this.#driver.observer?.ended(start, error);
      throw error;
    }
    if (this.#log.wants("TRACE"))
      this.#log.trace(sql, {
        elapsed_ms: millisecondsSince(start),
        rows: result.rows.length,
        affected: Number(result.numAffectedRows ?? 0),
      });
    return result;
  }

  #run(sql: string, params: readonly unknown[], reads: boolean): Promise<QueryResult<unknown>> {
    if (this.#reserved !== undefined) return this.#reserved.execute(sql, params);
    if (reads && this.#source.read !== undefined) return this.#source.read(sql, params);
    return this.#runWithPermit(sql, params);
  }

  async #runWithPermit(sql: string, params: readonly unknown[]): Promise<QueryResult<unknown>> {
    await this.#driver.acquirePermit();
    try {
      return await this.#source.execute(sql, params);
    } finally {
      this.#driver.releasePermit();
    }
  }

  /** kysely's interface requires it; nothing here streams through kysely. */
  streamQuery(): AsyncIterableIterator<never> {
    throw new TypeError("statements are not streamed through kysely");
  }
}

/** Attempt is what came of work in a savepoint. */
type Attempt<T> = { readonly result: T } | { readonly error: unknown };

/**
 * `inSavepoint` runs a part of a transaction; if it throws, only that part is undone, and the transaction can continue. It throws if the
 * transaction cannot, for instance because its connection is lost.
 */
export async function inSavepoint<T>(
  transaction: Transaction<Schema>,
  work: () => Promise<T>,
): Promise<Attempt<T>> {
  await sql`SAVEPOINT part`.execute(transaction);
  let attempt: Attempt<T>;
  try {
    attempt = { result: await work() };
  } catch (error) {
    await sql`ROLLBACK TO SAVEPOINT part`.execute(transaction);
    attempt = { error };
  }
  await sql`RELEASE SAVEPOINT part`.execute(transaction);
  return attempt;
}
