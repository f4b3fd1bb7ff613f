// This folder runs an operator's statements on PostgreSQL, each request on a connection of its own. statements.ts
// splits the text as PostgreSQL would. session.ts is a connection by the library pg, whose rows can be refused one by
// one. pg-json.ts converts between PostgreSQL's text format and JSON. This file runs the
// pieces of a request, and cancels what exceeds its time.

import type { Clock } from "../../../base/clock.ts";
import { FairSemaphore } from "../../../base/concurrency.ts";
import { Fault } from "../../../base/fault.ts";
import { RawJson } from "../../../base/json.ts";
import {
  abandonedFault,
  type CursorPage,
  type CursorRequest,
  maxRows,
  maxStatements,
  notOneQuery,
  type OperatorSql,
  type PageRequest,
  positionData,
  RowWriter,
  resultWithoutRows,
  type SqlCursor,
  type SqlRequest,
  stoppedFault,
  tooLargeRow,
  uniqueNames,
} from "../operator-sql.ts";
import { type ArrayTypes, commonArrays, jsonToPg, pgToJson, plainTypes } from "./pg-json.ts";
import { PgSession, type PgTarget, type Position, parsePgUrl } from "./session.ts";
import {
  changesRows,
  commitsByItself,
  endsTransaction,
  type Piece,
  splitPgStatements,
} from "./statements.ts";

/** Bytes that a message may have beside the values. */
const messageMargin = 65_536;
/** The time that the server may take to end a statement after a request to cancel it. */
const cancelGraceMs = 2000;
/** Rows that a cursor asks for at once, if they are not large. */
const cursorRows = 200;
/** Rows that do not fit into an answer are kept for the next one. Of larger rows a cursor asks for fewer, so that they stay below this. */
const keptBytes = 16 * 1024 * 1024;
/** The time between two requests to cancel. */
const cancelAgainMs = 50;

interface PostgresOperatorOptions {
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  readonly tableSizes: () => Promise<ReadonlyMap<string, number>>;
}

/**
 * PostgresOperator runs each request on a connection of its own, which is closed afterwards: no transaction, setting, temporary
 * table or lock of a request outlives it.
 */
export class PostgresOperator implements OperatorSql {
  readonly #target: PgTarget;
  readonly #options: PostgresOperatorOptions;
  readonly #semaphore = new FairSemaphore(maxStatements);
  readonly #open = new Set<PgSession>();

  constructor(url: string, options: PostgresOperatorOptions) {
    this.#target = parsePgUrl(url);
    this.#options = options;
  }

  async run(request: SqlRequest): Promise<RawJson> {
    const pieces = piecesOf(request.sql);
    if (request.params !== null && pieces.length > 1) {
      throw new Fault("InvalidInput", "params work only with a single statement", {
        field: "params",
      });
    }
    if (!(await this.#semaphore.acquire({ signal: request.signal }))) throw abandonedFault(0);
    try {
      return await this.#connected(request, async (connection, progress, stopped) => {
        let result = "";
        for (const [at, piece] of pieces.entries()) {
          stopped.throwIfAborted();
          const statement = statementOf(request.sql, piece, `operator_${at}`);
          result = await runStatement(connection, statement, request, progress);
        }
        return new RawJson(result);
      });
    } finally {
      this.#semaphore.release();
    }
  }

  async open(request: CursorRequest): Promise<SqlCursor> {
    const [piece, ...others] = piecesOf(request.sql);
    if (piece === undefined || others.length > 0) throw notOneQuery();
    const connection = await this.#connect(request.timeoutMs);
    try {
      const statement = statementOf(request.sql, piece, "operator_cursor");
      const query = await this.#limited(connection, request, () =>
        PgQuery.open(connection, statement, request.params),
      );
      const closed = new AbortController();
      return {
        columns: query.columns,
        next: (page) => {
          const signals = page.signal === undefined ? [closed.signal] : [closed.signal, page.signal];
          const limits = { ...page, signal: AbortSignal.any(signals) };
          return this.#limited(connection, limits, () => query.next(page));
        },
        close: () => {
          // PostgreSQL would go on with what it runs.
          closed.abort();
          return this.#closeConnection(connection);
        },
      };
    } catch (error) {
      await this.#closeConnection(connection);
      throw error;
    }
  }

  tableSizes(): Promise<ReadonlyMap<string, number>> {
    return this.#options.tableSizes();
  }

  async close(): Promise<void> {
    for (const connection of this.#open) connection.destroy();
  }

  async #connected<T>(
    request: Pick<SqlRequest, "timeoutMs" | "signal">,
    work: (connection: PgSession, progress: PgProgress, stopped: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const connection = await this.#connect(request.timeoutMs);
    try {
      return await this.#limited(connection, request, (progress, stopped) =>
        work(connection, progress, stopped),
      );
    } finally {
      await this.#closeConnection(connection);
    }
  }

  async #connect(timeoutMs: number): Promise<PgSession> {
    // The server's own limit is the second safeguard: it applies also after this process has died.
    const limit: Record<string, string> =
      timeoutMs > 0 ? { statement_timeout: String(timeoutMs + 2 * cancelGraceMs) } : {};
    const settings = {
      DateStyle: "ISO",
      TimeZone: "UTC",
      IntervalStyle: "iso_8601",
      bytea_output: "hex",
      ...limit,
    };
    const connection = await PgSession.open(this.#target, settings, this.#options.connectTimeoutMs);
    this.#open.add(connection);
    return connection;
  }

  async #closeConnection(connection: PgSession): Promise<void> {
    this.#open.delete(connection);
    await connection.close();
  }

  /** Cancels what the connection runs once the time is up, or nobody waits for it any more. */
  async #limited<T>(
    connection: PgSession,
    { timeoutMs, signal }: Pick<SqlRequest, "timeoutMs" | "signal">,
    work: (progress: PgProgress, stopped: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const progress = new PgProgress();
    let timedOut = false;
    const stopped = new AbortController();
    const stop = () => {
      if (!stopped.signal.aborted) void cancelUntilEnded(connection);
      stopped.abort();
    };
    const timer =
      timeoutMs > 0
        ? this.#options.clock.after(timeoutMs, () => {
            timedOut = true;
            stop();
          })
        : undefined;
    signal?.addEventListener("abort", stop);
    try {
      if (signal?.aborted) throw abandonedFault(0);
      return await work(progress, stopped.signal);
    } catch (error) {
      if (signal?.aborted) throw abandonedFault(progress.committedAfter(error));
      if (timedOut) throw stoppedFault(timeoutMs, progress.committedAfter(error));
      throw error;
    } finally {
      timer?.[Symbol.dispose]();
      signal?.removeEventListener("abort", stop);
    }
  }
}

/**
 * Cancels what a connection runs. PostgreSQL ignores a request that comes between two statements, or before it has read the next
 * one, so the request is repeated until the connection has ended. That is after the grace time at the latest.
 */
async function cancelUntilEnded(connection: PgSession): Promise<void> {
  const timer = setTimeout(() => connection.destroy(), cancelGraceMs);
  timer.unref();
  try {
    while (!connection.hasEnded) {
      await connection.cancel(cancelGraceMs);
      await Bun.sleep(cancelAgainMs);
    }
  } catch {
    // PostgreSQL cannot be reached; its own limit of time ends the statement.
    connection.destroy();
  } finally {
    clearTimeout(timer);
  }
}

function piecesOf(sql: string): readonly Piece[] {
  const pieces = splitPgStatements(sql);
  if (pieces.length > 0) return pieces;
  throw new Fault("InvalidInput", "there is no statement in `sql`", { field: "sql" });
}

function statementOf(whole: string, { sql, offset }: Piece, name: string): Statement {
  const position = (from: number) => positionData(whole, offset + unitsIn(sql, from - 1));
  return { name, sql, position };
}

interface Statement {
  readonly name: string;
  readonly sql: string;
  readonly position: Position;
}

async function runStatement(
  connection: PgSession,
  statement: Statement,
  request: SqlRequest,
  progress: PgProgress,
): Promise<string> {
  const { name, sql, position } = statement;
  const { values, names, cells } = await describeFor(connection, statement, request.params);
  // The row count of a statement that changes rows includes those that are not returned, so its portal is read to the end.
  const changes = changesRows(sql);
  const writer = new RowWriter(names, request);
  connection.maxMessage = request.maxBytes + messageMargin;
  progress.started(sql);
  const { tag, isInTransaction } = await connection.execute({
    name,
    values,
    maxRows: changes ? 0 : maxRows + 1,
    position,
    row: (row) => writer.add(cells(row)),
    fits: () => progress.committing(),
  });
  progress.ended(tag, isInTransaction);
  if (names.length === 0) return resultWithoutRows(countIn(tag));
  const count = changes && !tag.startsWith("SELECT") ? countIn(tag) : writer.count;
  return writer.toJson(count);
}

/** Lets PostgreSQL parse a statement. Returns its parameters as it takes them, its columns, and what makes JSON of a row. */
async function describeFor(
  connection: PgSession,
  { name, sql, position }: Statement,
  given: SqlRequest["params"],
) {
  const { paramTypes, columns } = await connection.describe(name, sql, position);
  const params = given ?? [];
  if (paramTypes.length !== params.length) {
    throw new Fault(
      "InvalidInput",
      `the statement has ${paramTypes.length} placeholders, but ${params.length} params were given`,
      {
        field: "params",
      },
    );
  }
  const arrays = await knownArrays(connection, [...paramTypes, ...columns.map(({ type }) => type)]);
  const values = params.map((value, at) => jsonToPg(value, paramTypes[at] ?? 0, arrays));
  return {
    values,
    names: columns.map(({ name }) => name),
    cells: (row: ReadonlyArray<string | null>) =>
      row.map((cell, at) => (cell === null ? "null" : pgToJson(cell, columns[at]?.type ?? 0, arrays))),
  };
}

type StatementShape = Awaited<ReturnType<typeof describeFor>>;

/** PgQuery is the query of a cursor, in a transaction of its connection. */
class PgQuery {
  readonly columns: readonly string[];
  readonly #connection: PgSession;
  readonly #statement: Statement;
  readonly #described: StatementShape;
  /** Undefined once the first rows were read. */
  #values: StatementShape["values"] | undefined;
  /** Rows that PostgreSQL has sent, and no answer has had yet. */
  readonly #kept: Array<readonly string[]> = [];
  /** The size of the largest row so far; nothing is known of the first. */
  #largest = keptBytes;
  #hasEnded = false;

  private constructor(connection: PgSession, statement: Statement, described: StatementShape) {
    this.#connection = connection;
    this.#statement = statement;
    this.#described = described;
    this.#values = described.values;
    this.columns = uniqueNames(described.names);
  }

  static async open(
    connection: PgSession,
    statement: Statement,
    params: SqlRequest["params"],
  ): Promise<PgQuery> {
    await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // What the transaction sees is settled by its first query, which would otherwise be the first read.
    await connection.query("SELECT 1");
    const described = await describeFor(connection, statement, params);
    if (described.names.length === 0) throw notOneQuery();
    return new PgQuery(connection, statement, described);
  }

  async next(page: PageRequest): Promise<CursorPage> {
    const { name, position } = this.#statement;
    const { names, cells } = this.#described;
    const writer = new RowWriter(names, page);
    this.#connection.maxMessage = page.maxBytes + messageMargin;
    const unfit = this.#kept.findIndex((row) => !writer.addToPage(row));
    this.#kept.splice(0, unfit < 0 ? this.#kept.length : unfit);
    while (!this.#hasEnded && this.#kept.length === 0 && !writer.isPageFull) {
      let largest = this.#values === undefined ? this.#largest : 1;
      let bytes = 0;
      const { isSuspended } = await this.#connection.execute({
        name,
        values: this.#values,
        maxRows: Math.max(1, Math.min(cursorRows, Math.floor(keptBytes / this.#largest))),
        position,
        row: (row) => {
          const texts = cells(row);
          const size = texts.reduce((sum, text) => sum + text.length, 1);
          largest = Math.max(largest, size);
          if (this.#kept.length === 0 && writer.addToPage(texts)) return;
          bytes += size;
          // Small rows before did not let expect so large ones.
          if (bytes > keptBytes + page.maxBytes) throw tooLargeRow(page.limit);
          this.#kept.push(texts);
        },
      });
      this.#values = undefined;
      this.#largest = largest;
      this.#hasEnded = !isSuspended;
    }
    const isLast = this.#hasEnded && this.#kept.length === 0;
    return { json: new RawJson(writer.toPage(isLast)), isLast };
  }
}

/**
 * `knownArrays` tells which of these types are arrays, and of which elements; it asks PostgreSQL about types that are not common.
 */
async function knownArrays(connection: PgSession, types: readonly number[]): Promise<ArrayTypes> {
  const unknown = types.filter((type) => !commonArrays.has(type) && !plainTypes.has(type));
  if (unknown.length === 0) return commonArrays;
  const arrays = new Map(commonArrays);
  const rows = await connection.query(
    `SELECT a.oid, CASE e.typtype WHEN 'd' THEN e.typbasetype ELSE e.oid END, e.typdelim FROM pg_type a JOIN pg_type e ON e.oid = a.typelem WHERE a.typcategory = 'A' AND a.oid IN (${unknown.join(",")})`,
  );
  for (const [oid, element, delimiter] of rows)
    arrays.set(Number(oid), { element: Number(element), delimiter: delimiter ?? "," });
  return arrays;
}

/** `unitsIn` converts a position: PostgreSQL counts characters, editors and this language count UTF-16 code units. */
function unitsIn(text: string, characters: number): number {
  let units = 0;
  for (const character of text) {
    if (characters <= 0) break;
    characters -= 1;
    units += character.length;
  }
  return units;
}

/**
 * `countIn` returns the last number of a command tag (`INSERT 0 3`, `UPDATE 3`, `SELECT 3`); 0 for one without, such as `CREATE TABLE`.
 */
function countIn(tag: string): number {
  return Number(/ (\d+)$/.exec(tag)?.[1] ?? 0);
}

/** PgProgress tracks which statements of a request PostgreSQL has committed. */
class PgProgress {
  #ended = 0;
  #committed = 0;
  #isInTransaction = false;
  /**
   * Tells whether the running statement may have committed something: no, only if PostgreSQL reports no failure, or in any case.
   */
  #mayCommit: "no" | "without failure" | "always" = "no";

  /** Must be called before a statement runs. */
  started(sql: string): void {
    if (commitsByItself(sql) && !this.#isInTransaction) this.#mayCommit = "always";
    else this.#mayCommit = endsTransaction(sql) ? "without failure" : "no";
  }

  /** Must be called before PostgreSQL is asked to commit the statement. */
  committing(): void {
    if (this.#mayCommit === "no" && !this.#isInTransaction) this.#mayCommit = "without failure";
  }

  /** Must be called with a statement's command tag, and whether a transaction is open after it. */
  ended(tag: string, isInTransaction: boolean): void {
    this.#mayCommit = "no";
    this.#ended += 1;
    this.#isInTransaction = isInTransaction;
    // COMMIT AND CHAIN commits and begins the next transaction at once. A COMMIT that rolls back has the tag ROLLBACK.
    if (!isInTransaction || tag === "COMMIT") this.#committed = this.#ended;
  }

  /** Returns how many statements, from the first, are committed after this error; null if that cannot be known. */
  committedAfter(error: unknown): number | null {
    const isReported = error instanceof Fault && error.data.sqlstate !== undefined;
    const isKnown = this.#mayCommit === "no" || (this.#mayCommit === "without failure" && isReported);
    return isKnown ? this.#committed : null;
  }
}
