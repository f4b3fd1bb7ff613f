import { Fault } from "../../base/fault.ts";
import type { RawJson } from "../../base/json.ts";

/** `maxRows` is the number of rows that one answer may have; further ones are left out, and `truncated` is true. */
export const maxRows = 10_000;

/** Bounds limit the size of an answer. */
export interface Bounds {
  /** The number of bytes that the result may take. */
  readonly maxBytes: number;
  /** The configured limit of a whole answer, for messages. */
  readonly limit: number;
}

/** SqlRequest is one request of `node-server_exec_sql`. */
export interface SqlRequest extends Bounds {
  readonly sql: string;
  /** Parameters, only for a single statement; null for none. */
  readonly params: readonly unknown[] | null;
  /** The time that all statements together may take; 0 means no limit. */
  readonly timeoutMs: number;
  /** Stops the statements: nobody waits for them any more. */
  readonly signal?: AbortSignal | undefined;
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
  /** Returns every user table of the current schema with its size in bytes. */
  tableSizes(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** `maxStatements` is the number of requests that run at once; further ones wait. */
export const maxStatements = 4;

/**
 * `stoppedFault` is the error of a request that exceeded `sql_timeout_ms`. `kept` is the number of its statements, from the first,
 * whose work is committed; null if that cannot be known.
 */
export function stoppedFault(timeoutMs: number, kept: number | null): Fault {
  return new Fault(
    "DatabaseError",
    `the statement ran for ${timeoutMs} ms (sql_timeout_ms) and was stopped; ${keptWords(kept)}`,
    { reason: "sql_timeout", limit: timeoutMs, kept },
  );
}

/** `abandonedFault` is the error of a request whose client has disconnected; for the log and the audit, because nobody reads the answer. */
export function abandonedFault(kept: number | null): Fault {
  return new Fault(
    "DatabaseError",
    `the client disconnected, and the statement was stopped; ${keptWords(kept)}`,
    {
      reason: "abandoned",
      kept,
    },
  );
}

function keptWords(kept: number | null): string {
  if (kept === null)
    return "it is not known which of its statements were committed; check before you run it again";
  if (kept === 0) return "nothing was committed";
  return `its first ${kept === 1 ? "statement was" : `${kept} statements were`} committed, the rest was not`;
}
