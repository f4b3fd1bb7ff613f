import type { SQL } from "bun";
import type { QueryResult } from "kysely";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import type { ConnectionSource, Execute, Reserved } from "./driver.ts";
import { toDatabaseFault } from "./postgres-errors.ts";
import type { Reachability } from "./reachability.ts";
import { unavailable } from "./unavailable.ts";

/** The time that running statements get to end when the server stops. */
const closeSeconds = 5;

export interface PostgresPoolOptions {
  /** Creates a pool, which connects when it is used. */
  readonly open: () => SQL;
  /** A pool that has connected already. */
  readonly first: SQL;
  readonly answerTimeoutMs: number;
  readonly reachability: Reachability;
  readonly log: Logger;
}

/** Target is what a statement runs on. */
interface Target {
  readonly pool: SQL;
  /** The pool itself, or one reserved connection of it. */
  readonly connection: Pick<SQL, "unsafe">;
  /** Called when the database did not answer a statement. */
  readonly onSilence?: (fault: unknown) => void;
}

/**
 * PostgresPool provides connections to PostgreSQL with a deadline on every answer. Nothing else notices a silent network or server:
 * TCP keeps such a connection for many minutes. After the deadline the statement fails, PostgreSQL is asked to cancel it, and the
 * pool is replaced, so that no later statement uses the silent connection.
 */
export class PostgresPool implements ConnectionSource {
  readonly #options: PostgresPoolOptions;
  readonly begin = "BEGIN";
  #pool: SQL;
  #answerTimeoutMs: number | undefined;
  #closed = false;
  readonly #retired = new Set<Promise<void>>();

  constructor(options: PostgresPoolOptions) {
    this.#options = options;
    this.#pool = options.first;
  }

  /** Sets the deadline. Before this call there is none: a migration works on whole tables. */
  limitAnswers(): void {
    this.#answerTimeoutMs = this.#options.answerTimeoutMs;
  }

  readonly execute: Execute = (sql, params) =>
    this.#options.reachability.admit(() => {
      const pool = this.#pool;
      return this.#run({ pool, connection: pool }, sql, params);
    });

  reserve(): Promise<Reserved> {
    return this.#options.reachability.admit(() => this.#reserve());
  }

  async #reserve(): Promise<Reserved> {
    const pool = this.#pool;
    const pending = pool.reserve();
    const connection = await this.#answered(pool, pending, () => {
      // The connection may still come, after the caller has given up.
      pending.then(
        (late) => late.release(),
        () => {},
      );
    });
    let silent: unknown;
    return {
      execute: async (sql, params) => {
        // PostgreSQL does not answer on this connection any more, not even ROLLBACK.
        if (silent !== undefined) throw silent;
        const onSilence = (fault: unknown) => {
          silent = fault;
        };
        return this.#run({ pool, connection, onSilence }, sql, params);
      },
      release: () => {
        // A silent connection is closed with its pool.
        if (silent === undefined) connection.release();
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#options.reachability.close();
    await this.#pool.close({ timeout: closeSeconds });
    await Promise.all(this.#retired);
  }

  async #run(
    { pool, connection, onSilence }: Target,
    sql: string,
    params: readonly unknown[],
  ): Promise<QueryResult<unknown>> {
    const query = connection.unsafe(sql, [...params]);
    const rows = await this.#answered(pool, query, (fault) => {
      query.cancel();
      onSilence?.(fault);
    });
    return { rows: [...rows], numAffectedRows: BigInt(rows.count ?? 0) };
  }

  /** Resolves to the answer, or rejects with `unavailable` after the deadline; `onSilence` is called before that. */
  #answered<T>(pool: SQL, pending: Promise<T>, onSilence: (fault: unknown) => void): Promise<T> {
    const answer = pending.catch((error: unknown) => {
      throw toDatabaseFault(error);
    });
    const timeoutMs = this.#answerTimeoutMs;
    const { reachability } = this.#options;
    if (timeoutMs === undefined) return reachability.observe(() => answer);
    return reachability.observe(() => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const timer = setTimeout(() => {
        const fault = unavailable(undefined, "the database did not answer in time; try again shortly");
        onSilence(fault);
        this.#replace(pool, timeoutMs);
        reject(fault);
      }, timeoutMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
      return promise;
    });
  }

  #replace(pool: SQL, timeoutMs: number): void {
    if (pool !== this.#pool || this.#closed) return;
    this.#pool = this.#options.open();
    if (!this.#options.reachability.isInDoubt)
      outsideSpans(() =>
        this.#options.log.event(
          "database.silent",
          "PostgreSQL did not answer a statement; its connections are replaced",
          {
            answer_timeout_ms: timeoutMs,
          },
        ),
      );
    // Other statements of this pool may still be answered within their own deadlines.
    const closing = pool.close({ timeout: timeoutMs / 1000 }).finally(() => this.#retired.delete(closing));
    this.#retired.add(closing);
  }
}
