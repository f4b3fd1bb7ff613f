import type { SQL } from "bun";
import type { QueryResult } from "kysely";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import type { ConnectionSource, Execute, Reserved } from "./driver.ts";
import { toDatabaseFault } from "./postgres-errors.ts";
import type { Reachability } from "./reachability.ts";
import { unavailable } from "./unavailable.ts";

/** How long statements that run may take to end when the server stops. */
const closeSeconds = 5;

export interface PostgresPoolOptions {
  /** Makes a pool; it connects when it is used. */
  readonly open: () => SQL;
  /** A pool that has connected already. */
  readonly first: SQL;
  readonly answerTimeoutMs: number;
  readonly reachability: Reachability;
  readonly log: Logger;
}

/** What a statement runs on. */
interface Target {
  readonly pool: SQL;
  /** The pool itself, or one reserved connection of it. */
  readonly connection: Pick<SQL, "unsafe">;
  /** Called when a statement was left unanswered. */
  readonly onSilence?: (fault: unknown) => void;
}

/**
 * Connections to PostgreSQL with a deadline on every answer. A network or a server that went silent is noticed by nobody else:
 * TCP keeps such a connection for many minutes. After the deadline the statement fails, PostgreSQL is asked to cancel it, and
 * the pool is replaced, so that no later statement meets the silent connection.
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

  /** Sets the deadline. Before, answers may take as long as they need: a migration works on whole tables. */
  limitAnswers(): void {
    this.#answerTimeoutMs = this.#options.answerTimeoutMs;
  }

  readonly execute: Execute = (sql, params) =>
    this.#run({ pool: this.#pool, connection: this.#pool }, sql, params);

  async reserve(): Promise<Reserved> {
    const pool = this.#pool;
    const pending = pool.reserve();
    const connection = await this.#answered(pool, pending, () => {
      // It may still come, when nobody waits for it.
      pending.then(
        (late) => late.release(),
        () => {},
      );
    });
    let silent: unknown;
    return {
      execute: async (sql, params) => {
        // Neither ROLLBACK nor anything else is answered on it.
        if (silent !== undefined) throw silent;
        const onSilence = (fault: unknown) => {
          silent = fault;
        };
        return this.#run({ pool, connection, onSilence }, sql, params);
      },
      release: () => {
        // One that went silent ends with its pool.
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

  /** The answer, or `unavailable` when none came in time; `onSilence` is called before that. */
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
          "PostgreSQL left a statement without an answer; its connections are replaced",
          {
            answer_timeout_ms: timeoutMs,
          },
        ),
      );
    // Other statements on it may still be answered within their own deadlines.
    const closing = pool.close({ timeout: timeoutMs / 1000 }).finally(() => this.#retired.delete(closing));
    this.#retired.add(closing);
  }
}
