import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Fault } from "../../../base/fault.ts";
import { exactJson } from "../../../base/json.ts";
import { skipGap } from "../operator-sql.ts";

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

  constructor(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    // Without `mode=rw` SQLite would create a file that does not exist, readable by everybody.
    const file = pathToFileURL(path);
    file.searchParams.set("mode", readOnly ? "ro" : "rw");
    this.#database = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true, readOnly });
    this.#counters = this.#database.prepare("SELECT changes() AS last, total_changes() AS total");
  }

  /** isWorn returns whether `maxPrepared` statements were prepared, so that the connection should be closed. */
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

/** Binding is a parameter on its way to the child; integers as digits, because JSON would round them to 53 bits. */
export type Binding = null | { readonly text: string } | { readonly real: number } | { readonly int: string };

/** `toBinding` accepts every JSON type: arrays and objects become their JSON text. */
export function toBinding(value: unknown, at: number): Binding {
  if (value === null) return null;
  if (typeof value === "string") return { text: value };
  if (typeof value === "boolean") return { int: value ? "1" : "0" };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { int: String(value) } : { real: value };
  if (typeof value !== "bigint") return { text: exactJson(value) };
  if (BigInt.asIntN(64, value) === value) return { int: String(value) };
  throw new Fault("InvalidInput", `params[${at}] does not fit into 64 bits; give it as text`, {
    field: `params.${at}`,
  });
}

export function fromBinding(binding: Binding): SQLInputValue {
  if (binding === null) return null;
  if ("text" in binding) return binding.text;
  return "int" in binding ? BigInt(binding.int) : binding.real;
}

export function refuseWrongParams(bindings: readonly Binding[] | null, count: number, more: boolean): void {
  if (bindings !== null && more)
    throw new Fault("InvalidInput", "params work only with a single statement", { field: "params" });
  const given = bindings?.length ?? 0;
  if (count === given) return;
  throw new Fault("InvalidInput", `the statement has ${count} placeholders, but ${given} params were given`, {
    field: "params",
  });
}

/** Tokens that may contain a question mark which is not a placeholder, and the placeholders themselves. */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?\d*|[:@$][\w$\u0080-\uffff]+|[\w$\u0080-\uffff]+/g;

interface Placeholders {
  /** The same statement, of the same length, with a plain `?` for every placeholder. */
  readonly sql: string;
  /** For each `?` the index of its parameter, from 0. */
  readonly order: readonly number[];
  /** The number of parameters that the statement takes. */
  readonly count: number;
}

/**
 * `numberPlaceholders` resolves SQLite's numbering: `?` takes the next number, `?7` the given one, a name the one it got first. The
 * driver supports plain `?` only, so the others are rewritten.
 */
function numberPlaceholders(sql: string): Placeholders {
  const names = new Map<string, number>();
  const order: number[] = [];
  let count = 0;
  const plain = sql.replace(tokens, (token) => {
    if (!/^[?:@$]/.test(token)) return token;
    const wanted =
      token === "?" ? undefined : token.startsWith("?") ? Number(token.slice(1)) : names.get(token);
    const number = wanted ?? count + 1;
    if (!token.startsWith("?")) names.set(token, number);
    count = Math.max(count, number);
    order.push(number - 1);
    return "?".padEnd(token.length);
  });
  return { sql: plain, order, count };
}
