import { Database } from "bun:sqlite";
import { readSync, writeSync } from "node:fs";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { openLibc } from "../../../base/local-fs/local-calls.ts";
import { lowerPriority } from "../../../base/process.ts";
import {
  type Bounds,
  doubleJson,
  notOneQuery,
  positionData,
  RowWriter,
  resultWithoutRows,
  skipGap,
  uniqueNames,
} from "../operator-sql.ts";
import { type BatchMemory, ChildBatch, openBatchMemory } from "./batch-memory.ts";
import {
  channelVariable,
  databaseVariable,
  encodeFrame,
  FrameReader,
  frameKinds,
  memoryDescriptor,
  parentVariable,
  socketDescriptor,
} from "./channel.ts";
import {
  type Binding,
  fromBinding,
  OperatorConnection,
  type PreparedStatement,
  refuseWrongParams,
} from "./operator-connection.ts";

/** The bytes that are read at once. */
const readBytes = 64 * 1024;

/** `runSqliteChild` runs the main program of the child: it answers the frames of its server until the channel ends. */
export async function runSqliteChild(): Promise<void> {
  dieWithParent();
  // Not by more: statements have a time limit, on a busy machine too.
  lowerPriority(8);
  // The server may have ended before prctl was called; then this process has another parent by now.
  if (process.env[parentVariable] !== String(process.ppid)) return;
  const path = process.env[databaseVariable] ?? "";
  const channel = process.env[channelVariable];
  if (channel === "pipes") {
    const answerer = new Answerer(path, process.stdout.fd);
    for await (const { buffer, byteOffset, byteLength } of Bun.stdin.stream())
      answerer.read(Buffer.from(buffer, byteOffset, byteLength));
    return;
  }
  // This process does nothing but wait for the next frame, so it blocks in the system call: an event loop costs twice as much.
  const memory = channel === "memory" ? openBatchMemory(memoryDescriptor) : undefined;
  const answerer = new Answerer(path, socketDescriptor, memory);
  const buffer = Buffer.allocUnsafe(readBytes);
  for (let bytes = -1; bytes !== 0; ) {
    bytes = readSync(socketDescriptor, buffer);
    answerer.read(buffer.subarray(0, bytes));
  }
}

/** Answerer runs requests as they arrive, and answers them in the same order. */
class Answerer {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #batch: ChildBatch | undefined;
  readonly #executor: SqliteExecutor;
  /** Set in a child that was started for a cursor. */
  #cursor: SqliteCursor | undefined;
  readonly #frames = new FrameReader((kind, text) => this.#received(kind, text));
  /** The number of requests in the present batch, and of those that have arrived. */
  #size = 1;
  #arrived = 0;
  /** Whether a frame of this batch was sent: all later ones are sent too, because the server reads the memory before them. */
  #hasSent = false;
  /** The processor time of this process when the batch began. Other processes may run meanwhile, the server above all. */
  #usageAtBegin = process.cpuUsage();

  constructor(path: string, descriptor: number, memory?: BatchMemory) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#batch = memory && new ChildBatch(memory);
    this.#executor = new SqliteExecutor(path);
  }

  /** Reads the next bytes, which may be overwritten afterwards. */
  read(bytes: Buffer): void {
    this.#frames.push(bytes);
  }

  #received(kind: number, text: string): void {
    if (kind === frameKinds.batch) {
      this.#size = Number(text);
      return;
    }
    if (this.#arrived === 0) this.#beginBatch();
    const index = this.#arrived;
    this.#arrived += 1;
    const isLast = this.#arrived === this.#size;
    const answer = index === 0 || this.#batch?.mayBegin(index) ? this.#perform(kind, text) : undefined;
    if (isLast) this.#endBatch();
    if (answer !== undefined) this.#answer(answer, isLast);
    else if (isLast) this.#send(encodeFrame(frameKinds.skipped, ""));
  }

  #beginBatch(): void {
    this.#hasSent = false;
    if (this.#batch === undefined) return;
    this.#batch.reset();
    this.#usageAtBegin = process.cpuUsage();
  }

  /** To be called before the last answer of a batch is sent. */
  #endBatch(): void {
    if (this.#batch !== undefined) {
      const { user, system } = process.cpuUsage(this.#usageAtBegin);
      this.#batch.setAverage((user + system) / this.#size);
    }
    [this.#size, this.#arrived] = [1, 0];
  }

  #perform(kind: number, text: string): Buffer {
    try {
      return encodeFrame(frameKinds.result, this.#resultOf(kind, text));
    } catch (error) {
      return encodeFrame(frameKinds.fault, faultJson(error));
    }
  }

  #resultOf(kind: number, text: string): string {
    if (kind === frameKinds.execute)
      return this.#executor.execute(JSON.parse(text) as SqliteRequest, (committed) =>
        this.#send(encodeFrame(frameKinds.committed, String(committed))),
      );
    if (kind === frameKinds.open) {
      this.#cursor = new SqliteCursor(this.#path, JSON.parse(text) as SqliteQuery);
      return JSON.stringify(this.#cursor.columns);
    }
    if (kind === frameKinds.next) return this.#cursor?.next(JSON.parse(text) as Bounds) ?? "";
    return kind === frameKinds.sizes ? JSON.stringify(sqliteTableSizes(this.#path)) : "";
  }

  #answer(frame: Buffer, isLast: boolean): void {
    const isAdded = !isLast && !this.#hasSent && this.#batch?.addAnswer(frame);
    if (!isAdded) this.#send(frame);
  }

  #send(frame: Buffer): void {
    this.#hasSent = true;
    writeAll(this.#descriptor, frame);
  }
}

function faultJson(error: unknown): string {
  const { kind, detail, data } =
    error instanceof Fault ? error : { kind: "DatabaseError" as const, detail: messageOf(error), data: {} };
  return JSON.stringify({ kind, detail, data });
}

/** `writeAll` writes synchronously: the next statement blocks everything else in this process. */
function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      // A pipe that does not block is full until the server reads.
      if (codeOf(error) !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/**
 * `dieWithParent` lets the Linux kernel kill the child together with its server: a statement that is stuck cannot notice that
 * the channel ended.
 */
function dieWithParent(): void {
  if (process.platform !== "linux") return;
  const setParentDeathSignal = 1;
  const sigkill = 9n;
  const libc = openLibc({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
  // Without prctl the child still ends when its statement does.
  libc?.prctl(setParentDeathSignal, sigkill, 0n, 0n, 0n);
}

/** SqliteQuery is what a cursor is opened with. */
export interface SqliteQuery {
  readonly sql: string;
  readonly bindings: readonly Binding[] | null;
}

export interface SqliteRequest extends Bounds, SqliteQuery {}

/** OnCommitted is called before each next statement with the number of statements of the request that are committed. */
type OnCommitted = (statements: number) => void;

/**
 * SqliteExecutor runs an operator's statements. No transaction, attached file, temporary table, pragma or counter of a request
 * outlives it: the connection is closed afterwards. Only after a single query that changed nothing it is as good as new, and is
 * used again; to open one costs twenty times as much as a small query.
 */
export class SqliteExecutor {
  readonly #path: string;
  #connection: OperatorConnection | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs every statement of a request and returns the result of the last one as JSON. */
  execute({ sql, bindings, maxBytes, limit }: SqliteRequest, onCommitted: OnCommitted): string {
    let rest = firstStatement(sql);
    const connection = this.#connection ?? new OperatorConnection(this.#path);
    this.#connection = undefined;
    let isAsNew = false;
    try {
      let result = "";
      for (let done = 1; rest !== ""; done += 1) {
        const prepared = connection.prepare(rest);
        refuseWrongParams(bindings, prepared.count, prepared.next !== "");
        const values = valuesFor(prepared, bindings);
        const outcome = runOne(connection, prepared, values, { maxBytes, limit });
        result = outcome.json;
        rest = prepared.next;
        isAsNew = done === 1 && prepared.isQuery && outcome.isComplete && outcome.affected === 0;
        if (rest !== "" && !connection.isTransaction) onCommitted(done);
      }
      return result;
    } catch (error) {
      throw databaseFault(error, () => errorPosition(this.#path, sql, rest));
    } finally {
      if (isAsNew && !connection.isWorn) this.#connection = connection;
      else connection.close();
    }
  }
}

/** SqliteCursor reads the rows of a query piece by piece. SQLite shows it the database as it was at the first row. */
class SqliteCursor {
  readonly columns: readonly string[];
  readonly #rows: Iterator<unknown>;
  readonly #flags: readonly boolean[];
  #next: IteratorResult<unknown>;

  constructor(path: string, { sql, bindings }: SqliteQuery) {
    const first = firstStatement(sql);
    try {
      const prepared = new OperatorConnection(path, { readOnly: true }).prepare(first);
      if (!prepared.hasColumns || prepared.next !== "") throw notOneQuery();
      refuseWrongParams(bindings, prepared.count, false);
      const { statement } = prepared;
      this.#rows = statement.iterate(...valuesFor(prepared, bindings));
      this.#next = this.#rows.next();
      this.columns = uniqueNames(namesOf(statement));
      this.#flags = flagsOf(statement);
    } catch (error) {
      throw databaseFault(error, () => errorPosition(path, sql, first));
    }
  }

  next(bounds: Bounds): string {
    const writer = new RowWriter(this.columns, bounds);
    try {
      for (; this.#next.done !== true; this.#next = this.#rows.next())
        if (!writer.addToPage(cellsOf(this.#next.value, this.#flags))) break;
    } catch (error) {
      throw databaseFault(error, () => ({}));
    }
    return writer.toPage(this.#next.done === true);
  }
}

/** Returns the text from its first statement on. */
function firstStatement(sql: string): string {
  // SQLite would read a NUL as the end of the text.
  if (sql.includes("\0")) throw new Fault("InvalidInput", "`sql` contains a NUL character", { field: "sql" });
  const rest = skipGap(sql);
  if (rest === "") throw new Fault("InvalidInput", "there is no statement in `sql`", { field: "sql" });
  return rest;
}

function valuesFor({ order }: PreparedStatement, bindings: SqliteQuery["bindings"]): SQLInputValue[] {
  return order.map((at) => fromBinding(bindings?.[at] ?? null));
}

function databaseFault(error: unknown, position: () => Record<string, number>): Fault {
  return error instanceof Fault ? error : new Fault("DatabaseError", messageOf(error), position());
}

interface Outcome {
  readonly json: string;
  /** The number of rows that were changed. */
  readonly affected: number;
  /** False if there are more rows than were read. */
  readonly isComplete: boolean;
}

function runOne(
  connection: OperatorConnection,
  { statement, hasColumns }: PreparedStatement,
  bindings: SQLInputValue[],
  bounds: Bounds,
): Outcome {
  const before = connection.totalChanges();
  if (!hasColumns) {
    statement.run(...bindings);
    const affected = connection.changesSince(before);
    return { json: resultWithoutRows(affected), affected, isComplete: true };
  }
  // A statement that changes rows and returns them is rolled back if its answer is too large.
  const changes = /^(insert|update|delete|replace|with)\b/i.test(statement.sourceSQL);
  const own = changes && !connection.isTransaction;
  if (own) connection.exec("BEGIN");
  try {
    const writer = readRows(statement, bindings, bounds);
    const affected = connection.changesSince(before);
    if (own) connection.exec("COMMIT");
    const json = writer.toJson(affected > 0 ? affected : writer.count);
    return { json, affected, isComplete: !writer.truncated };
  } catch (error) {
    if (own && connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

function readRows(statement: StatementSync, bindings: SQLInputValue[], bounds: Bounds): RowWriter {
  let writer: RowWriter | undefined;
  let flags: readonly boolean[] = [];
  for (const row of statement.iterate(...bindings)) {
    // Not before the first row: a statement that was prepared before a table changed may have other columns now.
    if (writer === undefined) {
      flags = flagsOf(statement);
      writer = new RowWriter(namesOf(statement), bounds);
    }
    if (!writer.add(cellsOf(row, flags))) break;
  }
  return writer ?? new RowWriter(namesOf(statement), bounds);
}

/** For each column whether it is declared to have booleans. */
function flagsOf(statement: StatementSync): readonly boolean[] {
  return statement.columns().map(({ type }) => /^bool(ean)?$/i.test(type ?? ""));
}

function cellsOf(row: unknown, flags: readonly boolean[]): readonly string[] {
  return (row as unknown[]).map((value, at) => toJson(value, flags[at] === true));
}

function namesOf(statement: StatementSync): readonly string[] {
  return statement.columns().map(({ name }) => name);
}

function toJson(value: unknown, isFlag: boolean): string {
  if (typeof value === "bigint")
    return isFlag && (value === 0n || value === 1n) ? String(value === 1n) : String(value);
  if (typeof value === "number") return doubleJson(value);
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString("base64")}"`;
  return JSON.stringify(value);
}

/** `errorPosition` finds where a statement has a syntax error, with Bun's SQLite: node's does not report it. */
function errorPosition(path: string, sql: string, rest: string): Record<string, number> {
  try {
    using metadata = new Database(path, { readonly: true });
    metadata.prepare(rest).finalize();
    return {};
  } catch (error) {
    const bytes = error instanceof Error && "byteOffset" in error ? Number(error.byteOffset) : -1;
    if (bytes < 0) return {};
    return positionData(
      sql,
      sql.length - rest.length + Buffer.from(rest).subarray(0, bytes).toString().length,
    );
  }
}

/**
 * `sqliteTableSizes` returns the size of each table's own pages in bytes. In aggregate mode dbstat walks one b-tree for a name;
 * queried for several names at once it would walk every page of the file.
 */
function sqliteTableSizes(path: string): Array<[name: string, bytes: number]> {
  using file = new Database(path, { readonly: true });
  const tables = file
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all();
  const size = file.query<{ bytes: number | null }, [string]>(
    "SELECT sum(pgsize) AS bytes FROM dbstat WHERE aggregate = TRUE AND name = ?",
  );
  return tables.map(({ name }) => [name, size.get(name)?.bytes ?? 0]);
}
