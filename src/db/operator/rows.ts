import { Fault } from "../../base/fault.ts";
import type { RawJson } from "../../base/json.ts";
import { type Bounds, maxRows } from "./operator-sql.ts";

/** RowWriter collects rows as JSON text, within bounds. */
export class RowWriter {
  readonly #bounds: Bounds;
  readonly #keys: readonly string[];
  readonly #rows: string[] = [];
  /** The size of the JSON so far, including what surrounds the rows. */
  #bytes = Buffer.byteLength(resultJson([], Number.MAX_SAFE_INTEGER));
  #truncated = false;

  constructor(columns: readonly string[], bounds: Bounds) {
    this.#bounds = bounds;
    this.#keys = uniqueNames(columns).map((name) => `${JSON.stringify(name)}:`);
  }

  /** Adds a row of JSON texts. Returns false if `maxRows` is reached and reading should stop. Throws ResponseTooBig. */
  add(cells: readonly string[]): boolean {
    if (this.#rows.length === maxRows) {
      this.#truncated = true;
      return false;
    }
    const row = `{${cells.map((cell, at) => this.#keys[at] + cell).join(",")}}`;
    this.#bytes += Buffer.byteLength(row) + 1;
    if (this.#bytes > this.#bounds.maxBytes) {
      throw new Fault(
        "ResponseTooBig",
        `the rows are above ${this.#bounds.limit} bytes (max_response_body_size) after ${this.#rows.length} of them; ask for fewer columns or add a LIMIT`,
        { limit: this.#bounds.limit },
      );
    }
    this.#rows.push(row);
    return true;
  }

  get count(): number {
    return this.#rows.length;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Returns the whole SQL result object as JSON. */
  toJson(rowCount: number): string {
    return resultJson(this.#rows, rowCount, { truncated: this.#truncated });
  }
}

export function resultJson(
  rows: readonly string[],
  rowCount: number,
  { truncated = false }: { readonly truncated?: boolean } = {},
): string {
  return `{"success":true,"data":[${rows.join(",")}],"row_count":${rowCount},"truncated":${truncated}}`;
}

/** `rowCountOf` is the row count of a result object, which is not parsed for it. */
export function rowCountOf({ text }: RawJson): number {
  return Number(/"row_count":(\d+),"truncated":(?:true|false)\}$/.exec(text.slice(-80))?.[1]);
}

/** `uniqueNames` numbers repeated column names: in an object the second would hide the first. */
function uniqueNames(columns: readonly string[]): string[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column;
    for (let n = 2; taken.has(name); n += 1) name = `${column}_${n}`;
    taken.add(name);
    return name;
  });
}

/** `doubleJson` writes a double as JSON; infinities and NaN, which JSON does not have, as strings. */
export function doubleJson(value: number): string {
  return Number.isFinite(value) ? JSON.stringify(value) : JSON.stringify(String(value));
}

/** `positionData` is the position of an error in the text, as offset, line and column from 1. */
export function positionData(sql: string, offset: number): Record<string, number> {
  const before = sql.slice(0, offset).split("\n");
  return { position: offset + 1, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const gap = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/;

/** `skipGap` removes spaces, comments and semicolons before the first statement; empty if there is no statement. */
export function skipGap(sql: string): string {
  return sql.replace(gap, "");
}
