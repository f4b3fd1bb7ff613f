import type { SQL } from "bun";
import type { QueryResult } from "kysely";
import type { Clock } from "../../base/clock.ts";
import { Watch } from "../../base/task.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans } from "../../log/span.ts";
import type { ConnectionSource, Execute, ReservedConnection } from "../driver.ts";
import { isUnavailable, unavailable } from "../unavailable.ts";
import { toDatabaseFault } from "./postgres-errors.ts";

/** The time that running statements get to end when the server stops. */
const closeSeconds = 5;

interface PostgresPoolOptions {
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
    this.#options.reachability.guard(() => {
      const pool = this.#pool;
      return this.#run({ pool, connection: pool }, sql, params);
    });

  reserve(): Promise<ReservedConnection> {
    return this.#options.reachability.guard(() => this.#reserve());
  }

  async #reserve(): Promise<ReservedConnection> {
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
          { timeout_ms: timeoutMs },
        ),
      );
    // Other statements of this pool may still be answered within their own deadlines.
    const closing = pool.close({ timeout: timeoutMs / 1000 }).finally(() => this.#retired.delete(closing));
    this.#retired.add(closing);
  }
}

/** While the database is lost, the pauses between probes double from `firstPauseMs` to `maxPauseMs`. */
const firstPauseMs = 250;
const maxPauseMs = 1000;
/** A database without a statement for this long is probed, so that a loss is logged before a caller notices it. */
const idleProbeMs = 10_000;

interface Probe {
  /** Opens a connection; rejects if that fails. */
  connect(): Promise<void>;
  /** Says why it failed, for an operator. */
  why(error: unknown): Promise<string>;
  /** Names the database without credentials. */
  readonly location: string;
}

/**
 * Reachability decides from the outcome of statements whether the database can be reached. A loss and a return are one log line
 * each, regardless of the traffic. A statement whose connection broke does not prove a loss: a new connection decides.
 */
export class Reachability {
  readonly #probe: Probe;
  readonly #clock: Clock;
  readonly #watch: Watch<string>;
  #lastAnswer: number;
  /** True while a new connection checks a suspected loss; statements that fail meanwhile are ignored. */
  #confirming = false;
  /** True while a statement finds out whether a lost database is back. */
  #isTried = false;
  #closed = false;
  #retry: Disposable | undefined;

  constructor(probe: Probe, log: Logger, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
    this.#lastAnswer = clock.monotonic();
    const database = probe.location;
    this.#watch = new Watch({
      clock,
      everyMs: idleProbeMs,
      check: () => this.#probeIdle(),
      lost: (reason) => {
        log.event(
          "database.lost",
          "the database cannot be reached; calls that need it fail until it returns",
          {
            database,
            reason,
          },
        );
        this.#tryLater(firstPauseMs);
      },
      restored: (lost_ms) => {
        this.#retry?.[Symbol.dispose]();
        log.event("database.restored", "the database can be reached again", { database, lost_ms });
      },
    });
  }

  get losses(): number {
    return this.#watch.losses;
  }

  get isLost(): boolean {
    return this.#watch.isLost;
  }

  /** True if the database is lost, or if that is being checked. */
  get isInDoubt(): boolean {
    return this.isLost || this.#confirming;
  }

  /**
   * guard runs work that needs the database from its beginning, as a circuit breaker does. While the database is lost, one caller at
   * a time may find out whether it is back, and the others fail at once: each would wait until its deadline, with a connection that
   * somebody else could use. Not for a statement within a transaction, which has to be ended.
   */
  async guard<T>(run: () => Promise<T>): Promise<T> {
    if (!this.isLost) return run();
    if (this.#isTried) throw unavailable(undefined);
    this.#isTried = true;
    try {
      return await run();
    } finally {
      this.#isTried = false;
    }
  }

  /** Runs a statement and draws conclusions from its outcome, which it passes on. */
  async observe<T>(run: () => Promise<T>): Promise<T> {
    // A statement that began before a loss does not prove the return.
    const { losses } = this.#watch;
    try {
      const result = await run();
      this.#lastAnswer = this.#clock.monotonic();
      if (this.isLost && losses === this.#watch.losses) this.#watch.conclude(undefined);
      return result;
    } catch (error) {
      // The log line belongs to no call, and a quiet call must not suppress it.
      if (isUnavailable(error)) outsideSpans(() => void this.#confirm());
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    this.#watch.close();
    this.#retry?.[Symbol.dispose]();
  }

  #probeIdle(): void {
    if (this.#clock.monotonic() - this.#lastAnswer >= idleProbeMs) void this.#confirm();
  }

  async #confirm(): Promise<void> {
    if (this.isLost || this.#confirming || this.#closed) return;
    this.#confirming = true;
    try {
      const error = await this.#try();
      if (error !== undefined && !this.#closed) this.#watch.conclude(await this.#probe.why(error));
    } finally {
      this.#confirming = false;
    }
  }

  #tryLater(pauseMs: number): void {
    this.#retry = this.#clock.after(pauseMs, async () => {
      const error = await this.#try();
      if (!this.isLost || this.#closed) return;
      if (error === undefined) this.#watch.conclude(undefined);
      else this.#tryLater(Math.min(pauseMs * 2, maxPauseMs));
    });
  }

  /** Tries to connect once. Returns the error; undefined if it succeeds. */
  async #try(): Promise<unknown> {
    try {
      await this.#probe.connect();
      this.#lastAnswer = this.#clock.monotonic();
      return undefined;
    } catch (error) {
      return error;
    }
  }
}
