import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { skipGap } from "../rows.ts";
import { numberPlaceholders } from "./placeholders.ts";

/** The number of statements that are prepared on one connection. They take memory until it is closed. */
const maxPrepared = 64;
/** The longest text of a query that is kept prepared. */
const maxQueryChars = 4096;

export interface PreparedStatement {
  /** Returns rows as arrays, and integers as bigints. */
  readonly statement: StatementSync;
  /** For each `?` of the statement the index of its parameter, from 0. */
  readonly order: readonly number[];
  /** The number of parameters that the statement takes. */
  readonly count: number;
  /** Whether it returns rows. */
  readonly hasColumns: boolean;
  /** Whether it is a query: it may change rows (`WITH … INSERT`), but nothing of the connection. */
  readonly isQuery: boolean;
  /** The text of the statements after it. */
  readonly next: string;
}

/** OperatorConnection is a connection for an operator's statements. */
export class OperatorConnection {
  readonly #database: DatabaseSync;
  readonly #counters: StatementSync;
  readonly #queries = new Map<string, PreparedStatement>();
  #prepared = 0;

  constructor(path: string) {
    // Without `mode=rw` SQLite would create a file that does not exist, readable by everybody.
    const file = pathToFileURL(path);
    file.searchParams.set("mode", "rw");
    this.#database = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true });
    this.#counters = this.#database.prepare("SELECT changes() AS last, total_changes() AS total");
  }

  /** Whether so many statements were prepared that it should be closed. */
  get isWorn(): boolean {
    return this.#prepared >= maxPrepared;
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Prepares the first statement of a text. SQLite prepares a kept one again by itself when the schema has changed. */
  prepare(text: string): PreparedStatement {
    const known = this.#queries.get(text);
    if (known !== undefined) return known;
    this.#prepared += 1;
    const first = this.#database.prepare(text);
    const source = first.sourceSQL;
    const { sql, order, count } = numberPlaceholders(source);
    const statement = sql === source ? first : this.#database.prepare(sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    const isQuery = /^(select|values|with)\b/i.test(source);
    const next = skipGap(text.slice(source.length));
    const hasColumns = statement.columns().length > 0;
    const prepared = { statement, order, count, hasColumns, isQuery, next };
    if (isQuery && next === "" && text.length <= maxQueryChars) this.#queries.set(text, prepared);
    return prepared;
  }

  /** The number of rows that all statements of this connection changed. */
  totalChanges(): number {
    return this.#counted().total;
  }

  /**
   * The number of rows that the last statement changed, without its triggers. (`changes()` keeps the count of an earlier statement
   * if this one changed nothing.)
   */
  changesSince(totalBefore: number): number {
    const { last, total } = this.#counted();
    return total === totalBefore ? 0 : last;
  }

  close(): void {
    this.#database.close();
  }

  #counted(): { readonly last: number; readonly total: number } {
    const row = this.#counters.get();
    return { last: Number(row?.last), total: Number(row?.total) };
  }
}
