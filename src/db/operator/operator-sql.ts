// This folder runs the operator's own SQL (exec_sql), which may be slow, endless or destructive, apart from the
// server's statements. This file has the interface, the limits and the JSON of an answer, which is the same for both
// databases. sqlite/ runs statements in child processes, because SQLite cannot be stopped from the process that calls
// it. postgres/ gives each request a connection of its own. Table sizes are measured by sqlite/child.ts and by
// ../postgres/postgres.ts; methods/node-sql.ts sorts and sums them. statement-text.ts reads an SQL text without
// running it: it hides values from the log, and finds the statements that write.

import { Fault } from "../../base/fault.ts";
import type { RawJson } from "../../base/json.ts";

/** `maxRows` is the number of rows that one answer may have; further ones are left out, and `truncated` is true. */
export const maxRows = 10_000;

/** A cursor answers no more rows at once than take this many bytes, if the rows themselves are not larger. */
const pageBytes = 1024 * 1024;

/** Bounds limit the size of an answer. */
export interface Bounds {
  /** The number of bytes that the result may take. */
  readonly maxBytes: number;
  /** The configured limit of a whole answer, for messages. */
  readonly limit: number;
}

/** Limits are what may end a request. */
interface Limits {
  /** The time that all statements together may take; 0 means no limit. */
  readonly timeoutMs: number;
  /** Stops the statements: nobody waits for them any more. */
  readonly signal?: AbortSignal | undefined;
}

/** SqlRequest is one request of `node-server_exec_sql`. */
export interface SqlRequest extends Bounds, Limits {
  readonly sql: string;
  /** Parameters, only for a single statement; null for none. */
  readonly params: readonly unknown[] | null;
}

/** CursorRequest is the query of a cursor. */
export type CursorRequest = Omit<SqlRequest, keyof Bounds>;
/** PageRequest bounds the next rows of a cursor. */
export type PageRequest = Bounds & Limits;

/** SqlCursor reads the rows of one query piece by piece, as the database had them when it was opened. */
export interface SqlCursor {
  readonly columns: readonly string[];
  /** Returns the next rows: at most `maxRows`, and fewer if they are large. After a failure the cursor cannot be used. */
  next(request: PageRequest): Promise<CursorPage>;
  close(): Promise<void>;
}

export interface CursorPage {
  /** `{"data": […], "done": false}`. */
  readonly json: RawJson;
  readonly isLast: boolean;
}

/**
 * OperatorSql runs an operator's own statements on the main database. They may be slow, endless or destructive, so each request has
 * a connection of its own: it neither blocks the server's statements, nor leaves a transaction, setting or temporary table behind.
 * The statements of one request run in order, and each is committed by itself unless the text says BEGIN. At most `maxStatements`
 * requests run at once; others wait.
 */
export interface OperatorSql {
  /**
   * Runs a request and returns the SQL result object of the last statement as JSON. Throws InvalidInput for parameters that do not
   * fit, DatabaseError with the position of a syntax error or with `kept` after a timeout (`stoppedFault`) or when `signal` fired
   * (`abandonedFault`), and ResponseTooBig; a statement whose rows are too large for the answer is not committed.
   */
  run(request: SqlRequest): Promise<RawJson>;
  /**
   * Opens a cursor on a query, with a connection of its own and a transaction that only reads. Throws InvalidInput for anything but a
   * single statement that returns rows.
   */
  open(request: CursorRequest): Promise<SqlCursor>;
  /** Returns every user table of the current schema with its size in bytes. */
  tableSizes(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** `maxStatements` is the number of requests that run at once; further ones wait. */
export const maxStatements = 4;

/**
 * `stoppedFault` returns the error of a request that exceeded `sql_timeout_ms`. `committed` is the number of its statements, from
 * the first, whose work is committed; null if that cannot be known. On the wire its name is `kept`.
 */
export function stoppedFault(timeoutMs: number, committed: number | null): Fault {
  return new Fault(
    "DatabaseError",
    `the statement ran for ${timeoutMs} ms (sql_timeout_ms) and was stopped; ${committedText(committed)}`,
    { reason: "sql_timeout", limit: timeoutMs, kept: committed },
  );
}

/** `abandonedFault` returns the error of a request whose client has disconnected, for the log and the audit: nobody reads the answer. */
export function abandonedFault(committed: number | null): Fault {
  return new Fault(
    "DatabaseError",
    `the client disconnected, and the statement was stopped; ${committedText(committed)}`,
    {
      reason: "abandoned",
      kept: committed,
    },
  );
}

function committedText(committed: number | null): string {
  if (committed === null)
    return "it is not known which of its statements were committed; check before you run it again";
  if (committed === 0) return "nothing was committed";
  return `its first ${committed === 1 ? "statement was" : `${committed} statements were`} committed, the rest was not`;
}

/** RowWriter collects rows as JSON text, within bounds. */
export class RowWriter {
  readonly #bounds: Bounds;
  readonly #columns: readonly string[];
  readonly #keys: readonly string[];
  readonly #rows: string[] = [];
  /** The size of the JSON so far, including what surrounds the rows. */
  #bytes: number;
  #truncated = false;

  constructor(columns: readonly string[], bounds: Bounds) {
    this.#bounds = bounds;
    this.#columns = uniqueNames(columns);
    this.#keys = this.#columns.map((name) => `${JSON.stringify(name)}:`);
    this.#bytes = Buffer.byteLength(this.toJson(Number.MAX_SAFE_INTEGER));
  }

  /** Adds a row of JSON texts. Returns false if `maxRows` is reached and reading should stop. Throws ResponseTooBig. */
  add(cells: readonly string[]): boolean {
    if (this.#rows.length === maxRows) {
      this.#truncated = true;
      return false;
    }
    const { limit } = this.#bounds;
    if (this.#fits(cells)) return true;
    throw new Fault(
      "ResponseTooBig",
      `the first ${this.#rows.length} rows already exceed ${limit} bytes (max_response_body_size); ask for fewer columns or add a LIMIT`,
      { limit },
    );
  }

  /**
   * Adds a row of JSON texts to one piece of a cursor. Returns false if it belongs into the next piece. Throws ResponseTooBig if it is too
   * large for any.
   */
  addToPage(cells: readonly string[]): boolean {
    if (this.isPageFull) return false;
    if (this.#fits(cells)) return true;
    if (this.#rows.length > 0) return false;
    throw tooLargeRow(this.#bounds.limit);
  }

  /** Adds a row, if there is room for it. */
  #fits(cells: readonly string[]): boolean {
    const row = `{${cells.map((cell, at) => this.#keys[at] + cell).join(",")}}`;
    const bytes = this.#bytes + Buffer.byteLength(row) + 1;
    if (bytes > this.#bounds.maxBytes) return false;
    this.#bytes = bytes;
    this.#rows.push(row);
    return true;
  }

  get count(): number {
    return this.#rows.length;
  }

  /** Whether the rows are enough for one piece of a cursor. */
  get isPageFull(): boolean {
    return this.#rows.length >= maxRows || this.#bytes >= pageBytes;
  }

  /** Returns the rows as the JSON of one piece of a cursor. */
  toPage(isLast: boolean): string {
    return `{"data":[${this.#rows.join(",")}],"done":${isLast}}`;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Returns the whole SQL result object as JSON. */
  toJson(rowCount: number): string {
    const columns = JSON.stringify(this.#columns);
    return `{"success":true,"columns":${columns},"data":[${this.#rows.join(",")}],"row_count":${rowCount},"truncated":${this.#truncated}}`;
  }
}

/** Returns the SQL result object of a statement without columns as JSON. */
export function resultWithoutRows(affected: number): string {
  return `{"success":true,"columns":[],"data":[],"row_count":${affected},"truncated":false}`;
}

/** `rowCountOf` returns the row count of a result object, which is not parsed for it. */
export function rowCountOf({ text }: RawJson): number {
  return Number(/"row_count":(\d+),"truncated":(?:true|false)\}$/.exec(text.slice(-80))?.[1]);
}

/** `uniqueNames` numbers repeated column names: in an object the second would hide the first. */
export function uniqueNames(columns: readonly string[]): string[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column;
    for (let n = 2; taken.has(name); n += 1) name = `${column}_${n}`;
    taken.add(name);
    return name;
  });
}

/** `tooLargeRow` returns the error for a row that no answer can hold. */
export function tooLargeRow(limit: number): Fault {
  return new Fault("ResponseTooBig", `a single row exceeds ${limit} bytes (max_response_body_size)`, {
    limit,
  });
}

/** `notOneQuery` returns the error for a cursor on anything else. */
export function notOneQuery(): Fault {
  return new Fault(
    "InvalidInput",
    "a cursor reads the rows of a single statement that returns rows; use node-server_exec_sql for others",
    { field: "sql" },
  );
}

/** `doubleJson` writes a double as JSON; infinities and NaN, which JSON does not have, as strings. */
export function doubleJson(value: number): string {
  return Number.isFinite(value) ? JSON.stringify(value) : JSON.stringify(String(value));
}

/** `positionData` returns the position of an error in the text, as offset, line and column from 1. */
export function positionData(sql: string, offset: number): Record<string, number> {
  const before = sql.slice(0, offset).split("\n");
  return { position: offset + 1, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const gap = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/;

/** `skipGap` removes spaces, comments and semicolons before the first statement; empty if there is no statement. */
export function skipGap(sql: string): string {
  return sql.replace(gap, "");
}
