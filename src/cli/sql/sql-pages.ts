import { DatabaseError } from "../../client/index.ts";
import type { Row } from "../terminal/table.ts";
import { type Pageable, toPageable } from "./sql-pageable.ts";

export interface SqlAnswer {
  /** The columns, in the statement's order. */
  readonly names: readonly string[];
  readonly data: readonly Row[];
  readonly row_count: number;
  readonly truncated: boolean;
}

/** Ask runs a statement; `bare` leaves out the params that the user gave for placeholders. */
export type Ask = (statement: string, options?: { readonly bare: boolean }) => Promise<SqlAnswer>;

/** PostgreSQL types whose equal values are always printed alike. Not numeric: 1.0 and 1.00 are equal. */
const exactTypes: ReadonlySet<string> = new Set(
  "smallint,integer,bigint,real,double precision,boolean,uuid,date,timestamp without time zone,timestamp with time zone,bytea".split(
    ",",
  ),
);
/** Types for which the same holds if their collation distinguishes all texts. */
const textTypes: ReadonlySet<string> = new Set(["text", "character varying", "name"]);
const exactCollation = /^"(default|C|POSIX)"$/;

/**
 * Yields all rows of a statement whose first answer was cut, page by page. Undefined when that cannot be done exactly.
 *
 * Each page runs the statement again, in an order in which only rows with equal columns are equal. Such rows are
 * interchangeable, so no row is lost or doubled as long as nobody writes in between.
 */
export async function pagesOf(
  ask: Ask,
  statement: string,
  cut: SqlAnswer,
): Promise<AsyncGenerator<SqlAnswer> | undefined> {
  const pageable = toPageable(statement);
  const sorted = pageable && (await inTotalOrder(ask, pageable, cut.names.length));
  return sorted === undefined ? undefined : pages(ask, sorted, cut.data.length);
}

async function* pages(ask: Ask, sorted: string, size: number): AsyncGenerator<SqlAnswer> {
  for (let offset = 0; ; offset += size) {
    const page = await ask(`${sorted} LIMIT ${size} OFFSET ${offset}`);
    if (page.data.length > 0) yield page;
    if (page.data.length < size) return;
  }
}

async function inTotalOrder(
  ask: Ask,
  { text, ordered }: Pageable,
  count: number,
): Promise<string | undefined> {
  const positions = Array.from({ length: count }, (_, at) => at + 1);
  if (await isSqlite(ask)) {
    // A column may be declared to ignore case; BINARY compares bytes.
    const keys = positions.map((at) => `${at} COLLATE BINARY`).join(", ");
    // On its own line, because the statement may end with a comment.
    return `${text}\n${ordered ? "," : "ORDER BY"} ${keys}`;
  }
  // The text of a row gives an order for every type, also for those without one, such as json.
  if (!ordered) return `SELECT * FROM (${text}\n) AS paged ORDER BY paged::text COLLATE "C"`;
  return (await hasExactTypes(ask, text, positions)) ? `${text}\n, ${positions.join(", ")}` : undefined;
}

/** Asks in SQL, because a token that may run SQL need not have the permission for `get_database_type`. */
export async function isSqlite(ask: Ask): Promise<boolean> {
  try {
    await ask("SELECT sqlite_version() AS version", { bare: true });
    return true;
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}

async function hasExactTypes(ask: Ask, text: string, positions: readonly number[]): Promise<boolean> {
  const columns = positions.map((at) => `c${at}`);
  const ofEach = async (wanted: string, asked: readonly string[]): Promise<string[]> => {
    const calls = asked.map((column) => `${wanted}(${column})::text AS ${column}`);
    const from = `(${text}\n) AS paged (${columns.join(", ")})`;
    const { data } = await ask(`SELECT ${calls.join(", ")} FROM ${from} LIMIT 1`);
    return asked.map((column) => String(data[0]?.[column]));
  };
  const types = await ofEach("pg_typeof", columns);
  if (!types.every((type) => exactTypes.has(type) || textTypes.has(type))) return false;
  const texts = columns.filter((_, at) => textTypes.has(types[at] ?? ""));
  // pg_collation_for fails for types without a collation.
  return (
    texts.length === 0 || (await ofEach("pg_collation_for", texts)).every((name) => exactCollation.test(name))
  );
}
