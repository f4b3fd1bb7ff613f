import { Fault } from "../../base/fault.ts";
import type { RawJson } from "../../base/raw-json.ts";

/** `maxRows` limits the rows of one answer. */
export const maxRows = 10_000;

export interface Bounds {
  /** How many bytes the result may take. */
  readonly maxBytes: number;
  /** The configured limit of a whole answer, for messages. */
  readonly limit: number;
}

/** SqlRequest is one request of `node-server_exec_sql`. */
export interface SqlRequest extends Bounds {
  readonly sql: string;
  /** Only with a single statement. */
  readonly params: readonly unknown[] | null;
  /** 0: no limit. */
  readonly timeoutMs: number;
}

/** OperatorSql runs an operator's own statements on the main database, apart from the server's: they can be slow, stuck or wrong. */
export interface OperatorSql {
  /** The SQL result object, as JSON. */
  run(request: SqlRequest): Promise<RawJson>;
  /** Every user table of the current schema with its size in bytes. */
  tableSizes(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** `maxStatements` run at once; further ones wait. */
export const maxStatements = 4;

/**
 * The failure of a request that ran into `sql_timeout_ms`. `kept` is the number of its statements, from the first, whose work
 * is committed, null when that cannot be known; each statement is committed by itself unless the text says BEGIN.
 */
export function stoppedFault(timeoutMs: number, kept: number | null): Fault {
  return new Fault(
    "DatabaseError",
    `the statement ran for ${timeoutMs} ms (sql_timeout_ms) and was stopped; ${keptWords(kept)}`,
    { limit: timeoutMs, kept },
  );
}

function keptWords(kept: number | null): string {
  if (kept === null) return "it is not known what of it was kept; look before you run it again";
  if (kept === 0) return "nothing of it was kept";
  return `what its first ${kept === 1 ? "statement" : `${kept} statements`} did was kept, the rest was not`;
}
