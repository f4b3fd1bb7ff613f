// This folder runs an operator's statements on PostgreSQL, each request on a connection of its own. statements.ts
// splits the text as PostgreSQL would. wire.ts speaks the protocol: an answer has to stop after a number of rows, and
// to have the position of an error. pg-json.ts converts between PostgreSQL's text format and JSON. This file runs the
// pieces of a request, and cancels what exceeds its time.

import type { Clock } from "../../../base/clock.ts";
import { FairSemaphore } from "../../../base/fair-semaphore.ts";
import { Fault } from "../../../base/fault.ts";
import { RawJson } from "../../../base/json.ts";
import {
  abandonedFault,
  maxRows,
  maxStatements,
  type OperatorSql,
  positionData,
  RowWriter,
  resultJson,
  type SqlRequest,
  stoppedFault,
} from "../operator-sql.ts";
import { type ArrayTypes, commonArrays, jsonToPg, pgToJson, plainTypes } from "./pg-json.ts";
import { changesRows, commitsByItself, endsTransaction, splitPgStatements } from "./statements.ts";
import {
  int16,
  int32,
  PgConnection,
  type PgMessage,
  type PgTarget,
  packet,
  parsePgUrl,
  text,
  toFault,
} from "./wire.ts";

/** Bytes that a message may have beside the values. */
const messageMargin = 65_536;
/** The time that the server may take to end a statement after a request to cancel it. */
const cancelGraceMs = 2000;
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
  readonly #open = new Set<PgConnection>();

  constructor(url: string, options: PostgresOperatorOptions) {
    this.#target = parsePgUrl(url);
    this.#options = options;
  }

  async run(request: SqlRequest): Promise<RawJson> {
    const pieces = splitPgStatements(request.sql);
    if (pieces.length === 0)
      throw new Fault("InvalidInput", "there is no statement in `sql`", { field: "sql" });
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
          const position = (from: number) =>
            positionData(request.sql, piece.offset + unitsIn(piece.sql, from - 1));
          const statement = { name: `operator_${at}`, sql: piece.sql, position };
          result = await runStatement(connection, statement, request, progress);
        }
        return new RawJson(result);
      });
    } finally {
      this.#semaphore.release();
    }
  }

  tableSizes(): Promise<ReadonlyMap<string, number>> {
    return this.#options.tableSizes();
  }

  async close(): Promise<void> {
    for (const connection of this.#open) connection.destroy();
  }

  async #connected<T>(
    { timeoutMs, signal }: Pick<SqlRequest, "timeoutMs" | "signal">,
    work: (connection: PgConnection, progress: PgProgress, stopped: AbortSignal) => Promise<T>,
  ): Promise<T> {
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
    const connection = await PgConnection.open(this.#target, settings, this.#options.connectTimeoutMs);
    this.#open.add(connection);
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
      return await work(connection, progress, stopped.signal);
    } catch (error) {
      if (signal?.aborted) throw abandonedFault(progress.committedAfter(error));
      if (timedOut) throw stoppedFault(timeoutMs, progress.committedAfter(error));
      throw error;
    } finally {
      timer?.[Symbol.dispose]();
      signal?.removeEventListener("abort", stop);
      this.#open.delete(connection);
      await connection.close();
    }
  }
}

/**
 * Cancels what a connection runs. PostgreSQL ignores a request that comes between two statements, or before it has read the next
 * one, so the request is repeated until the connection has ended. That is after the grace time at the latest.
 */
async function cancelUntilEnded(connection: PgConnection): Promise<void> {
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

type Position = (at: number) => Record<string, unknown>;

interface Statement {
  readonly name: string;
  readonly sql: string;
  readonly position: Position;
}

async function runStatement(
  connection: PgConnection,
  statement: Statement,
  request: SqlRequest,
  progress: PgProgress,
): Promise<string> {
  const { name, sql, position } = statement;
  const { paramTypes, columns } = await describe(connection, statement);
  const params = request.params ?? [];
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
  // The row count of a statement that changes rows includes those that are not returned, so its portal is read to the end.
  const changes = changesRows(sql);
  const writer = new RowWriter(
    columns.map(({ name }) => name),
    request,
  );
  connection.maxMessage = request.maxBytes + messageMargin;
  progress.started(sql);
  // Flush, not Sync: the statement is committed only once its rows are known to fit into the answer.
  connection.send(bind(name, values), execute(changes ? 0 : maxRows + 1), packet("H"));
  let tag = "";
  for (let done = false; !done; ) {
    const { tag: kind, body } = await connection.receive();
    if (kind === "D") writer.add(readRow(body, columns, arrays));
    else if (kind === "E") throw toFault(body, position);
    else if (kind === "G") connection.send(packet("f", text("COPY from the client is not possible here")));
    else if (kind === "H")
      throw new Fault("InvalidInput", "COPY to the client is not possible here; use a SELECT");
    if (kind === "C") tag = body.toString("latin1", 0, body.length - 1);
    // Complete, empty, or stopped at the last requested row.
    done = kind === "C" || kind === "I" || kind === "s";
  }
  progress.committing();
  connection.send(packet("S"));
  const isIdle = await untilReady(connection, position, () => {});
  progress.ended(tag, !isIdle);
  if (columns.length === 0) return resultJson([], countIn(tag));
  const count = changes && !tag.startsWith("SELECT") ? countIn(tag) : writer.count;
  return writer.toJson(count);
}

async function describe(
  connection: PgConnection,
  { name, sql, position }: Statement,
): Promise<{ paramTypes: number[]; columns: Column[] }> {
  connection.send(
    packet("P", text(name), text(sql), int16(0)),
    packet("D", Buffer.from("S"), text(name)),
    packet("S"),
  );
  let paramTypes: number[] = [];
  let columns: Column[] = [];
  await untilReady(connection, position, ({ tag, body }) => {
    if (tag === "t")
      paramTypes = Array.from({ length: body.readInt16BE(0) }, (_, at) => body.readUInt32BE(2 + 4 * at));
    if (tag === "T") columns = readColumns(body);
  });
  return { paramTypes, columns };
}

/**
 * `untilReady` reads until the server is ready for the next statement, and then throws an error that came on the way. Returns true
 * if no transaction is open, so that everything before is committed.
 */
async function untilReady(
  connection: PgConnection,
  position: Position,
  each: (message: PgMessage) => void,
): Promise<boolean> {
  let fault: Fault | undefined;
  for (;;) {
    const message = await connection.receive();
    if (message.tag === "E") fault ??= toFault(message.body, position);
    else if (message.tag !== "Z") each(message);
    else if (fault !== undefined) throw fault;
    else return message.body.toString("latin1") === "I";
  }
}

/**
 * `knownArrays` tells which of these types are arrays, and of which elements; it asks PostgreSQL about types that are not common.
 */
async function knownArrays(connection: PgConnection, types: readonly number[]): Promise<ArrayTypes> {
  const unknown = types.filter((type) => !commonArrays.has(type) && !plainTypes.has(type));
  if (unknown.length === 0) return commonArrays;
  const arrays = new Map(commonArrays);
  connection.send(
    packet(
      "Q",
      text(
        `SELECT a.oid, CASE e.typtype WHEN 'd' THEN e.typbasetype ELSE e.oid END, e.typdelim FROM pg_type a JOIN pg_type e ON e.oid = a.typelem WHERE a.typcategory = 'A' AND a.oid IN (${unknown.join(",")})`,
      ),
    ),
  );
  const columns = [
    { name: "oid", type: 0 },
    { name: "element", type: 0 },
    { name: "delimiter", type: 0 },
  ];
  await untilReady(
    connection,
    () => ({}),
    ({ tag, body }) => {
      if (tag !== "D") return;
      const [oid, element, delimiter] = readRow(body, columns, commonArrays).map((cell) =>
        String(JSON.parse(cell)),
      );
      arrays.set(Number(oid), { element: Number(element), delimiter: delimiter ?? "," });
    },
  );
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

/** Column is a column of a statement's result, with the OID of its type. */
interface Column {
  readonly name: string;
  readonly type: number;
}

/** `bind` gives a prepared statement its parameters, as text. */
function bind(name: string, values: ReadonlyArray<string | null>): Buffer {
  const encoded = values.map((value) => {
    if (value === null) return int32(-1);
    const bytes = Buffer.from(value);
    return Buffer.concat([int32(bytes.length), bytes]);
  });
  // No format codes: all parameters and all results are text.
  return packet("B", text(""), text(name), int16(0), int16(values.length), ...encoded, int16(0));
}

/** `execute` asks for this number of rows; 0 means all. */
function execute(rows: number): Buffer {
  return packet("E", text(""), int32(rows));
}

/** `readColumns` reads a RowDescription. */
function readColumns(body: Buffer): Column[] {
  const columns: Column[] = [];
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const end = body.indexOf(0, at);
    columns.push({ name: body.toString("utf8", at, end), type: body.readUInt32BE(end + 7) });
    at = end + 19;
  }
  return columns;
}

/** `readRow` reads a DataRow; each cell is JSON. */
function readRow(body: Buffer, columns: readonly Column[], arrays: ArrayTypes): string[] {
  let at = 2;
  return columns.map(({ type }) => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return "null";
    const value = body.toString("utf8", at, at + length);
    at += length;
    return pgToJson(value, type, arrays);
  });
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
