import type { RawJson } from "../../base/raw-json.ts";
import type { Bounds } from "./rows.ts";

/** How many rows a statement may answer with. */
export const maxRows = 10_000;

/** One request of `node-server_exec_sql`. */
export interface SqlRequest extends Bounds {
  readonly sql: string;
  /** Only with a single statement. */
  readonly params: readonly unknown[] | null;
  /** 0: no limit. */
  readonly timeoutMs: number;
}

/** An operator's own statements on the main database, apart from the server's: they can be slow, stuck or wrong. */
export interface OperatorSql {
  /** The SQL result object, as JSON. */
  run(request: SqlRequest): Promise<RawJson>;
  /** Every user table of the current schema with its size in bytes. */
  tableSizes(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** How many operators' statements run at once; the next ones wait their turn. */
export const maxStatements = 4;
