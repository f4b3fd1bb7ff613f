import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import { Fault } from "../base/fault.ts";
import { Permits } from "../base/permits.ts";
import type { Logger } from "../log/hub.ts";

/** One statement on one connection; throws a `Fault` in the database's own words. */
export type Execute = (sql: string, params: readonly unknown[]) => Promise<QueryResult<unknown>>;

/** Where a driver's connections come from. */
export interface Source {
  /** For single statements. */
  readonly execute: Execute;
  /** For a transaction: a connection nobody else uses until `release`. */
  reserve(): Promise<{ readonly execute: Execute; release(): void }>;
  /** The words that open a transaction. */
  readonly begin: string;
  close(): Promise<void>;
}

/**
 * What kysely needs of a database, the same for both of ours: so many statements at once and no more,
 * a bounded wait for a turn, and every statement visible in the log (its values are not).
 */
export class PermitDriver implements Driver {
  readonly #permits: Permits;

  constructor(
    private readonly source: Source,
    connections: number,
    private readonly acquireTimeoutMs: number,
    private readonly log: Logger,
  ) {
    this.#permits = new Permits(connections);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SourceConnection> {
    if (await this.#permits.take("", this.acquireTimeoutMs))
      return new SourceConnection(this.source, this.log);
    throw new Fault(
      "DatabaseError",
      `no database connection came free within ${this.acquireTimeoutMs} ms (acquire_timeout_ms)`,
    );
  }

  async releaseConnection(connection: SourceConnection): Promise<void> {
    connection.release();
    this.#permits.give();
  }

  async beginTransaction(connection: SourceConnection): Promise<void> {
    await connection.reserve();
    await connection.run(this.source.begin, []);
  }

  async commitTransaction(connection: SourceConnection): Promise<void> {
    await connection.run("COMMIT", []);
  }

  async rollbackTransaction(connection: SourceConnection): Promise<void> {
    await connection.run("ROLLBACK", []);
  }

  destroy(): Promise<void> {
    return this.source.close();
  }
}

class SourceConnection implements DatabaseConnection {
  #reserved: { readonly execute: Execute; release(): void } | undefined;

  constructor(
    private readonly source: Source,
    private readonly log: Logger,
  ) {}

  async reserve(): Promise<void> {
    this.#reserved = await this.source.reserve();
  }

  release(): void {
    this.#reserved?.release();
    this.#reserved = undefined;
  }

  executeQuery<R>(compiled: CompiledQuery): Promise<QueryResult<R>> {
    return this.run(compiled.sql, compiled.parameters) as Promise<QueryResult<R>>;
  }

  async run(sql: string, params: readonly unknown[]): Promise<QueryResult<unknown>> {
    const execute = this.#reserved?.execute ?? this.source.execute;
    if (!this.log.wants("TRACE")) return execute(sql, params);
    const start = performance.now();
    const result = await execute(sql, params);
    const elapsed_ms = Math.round((performance.now() - start) * 1000) / 1000;
    this.log.trace(sql, {
      elapsed_ms,
      rows: result.rows.length,
      affected: Number(result.numAffectedRows ?? 0),
    });
    return result;
  }

  // biome-ignore lint/correctness/useYield: kysely's interface asks for it; nothing here streams through kysely.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new TypeError("statements are not streamed through kysely");
  }
}
