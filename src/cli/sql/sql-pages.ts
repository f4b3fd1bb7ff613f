import { DatabaseError } from "../../client/index.ts";
import type { Row } from "../terminal/table.ts";
import { sqlTokens } from "./sql-statement.ts";

/** Pageable is a statement that may be run for each page: it changes nothing and gives the same rows each time. */
interface Pageable {
  /** Without the `;` and what follows it. */
  readonly text: string;
  /** It ends with an ORDER BY of its own, which a page must keep. */
  readonly ordered: boolean;
}

const keywords = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Words that make a statement change data, choose among its rows, or depend on the time. */
const refused = keywords(
  "insert update delete merge into limit offset fetch for returning tablesample distinct group having over window intersect except current_timestamp current_date current_time localtime localtimestamp",
);
/** Words that may precede a parenthesis: keywords, types, and deterministic functions. */
const callable = keywords(
  "select values with from join on using where and or not in exists any all some as by case when then else union between like glob ilike similar is materialized " +
    "varchar char character numeric decimal float timestamp time bit " +
    "count min max abs round floor ceil ceiling sign mod length char_length octet_length lower upper trim ltrim rtrim substr substring replace instr strpos left right lpad rpad coalesce ifnull nullif iif cast typeof hex unhex unicode printf format concat concat_ws to_char extract date_trunc date_part json_extract jsonb_extract_path jsonb_extract_path_text greatest least md5 generate_series",
);
/** Literals that PostgreSQL casts to the current time. */
const presentTime = /^'\s*(now|today|tomorrow|yesterday)\b/i;

/** Returns the statement if running it for each page provably gives every row once; else undefined. */
export function toPageable(statement: string): Pageable | undefined {
  const all = sqlTokens(statement);
  const end = all.findIndex(({ text }) => text === ";");
  const tokens = (end === -1 ? all : all.slice(0, end)).map(({ text }) => text);
  if (end !== -1 && all.slice(end).some(({ text }) => text !== ";")) return undefined;
  const low = tokens.map((token) => token.toLowerCase());
  if (low[0] !== "select" && low[0] !== "with") return undefined;
  let depth = 0;
  let ordered = false;
  for (const [at, token] of low.entries()) {
    const next = low[at + 1];
    if (refused.has(token) || presentTime.test(token)) return undefined;
    if (token === "union" && next !== "all") return undefined;
    // A string with escapes (E'…', U&'…') may end elsewhere than this tokenizer finds.
    if (/^(e|u|u&)$/.test(token) && next?.startsWith("'")) return undefined;
    if (next === "(" && /[\w"`\]]$/.test(token) && !callable.has(token) && !isColumnList(low, at))
      return undefined;
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === "order" && depth === 0) ordered = true;
  }
  const text = end === -1 ? statement : statement.slice(0, all[end]?.at);
  return { text: text.trimEnd(), ordered };
}

/** `isColumnList` returns whether the word at `at` begins `name (column, …) AS (SELECT`, the head of a WITH query. */
function isColumnList(tokens: readonly string[], at: number): boolean {
  const close = tokens.indexOf(")", at);
  const head = tokens.slice(close + 1, close + 4).join(" ");
  const columns = tokens.slice(at + 2, close);
  return /^as \( (select|values|with)$/.test(head) && columns.every((token) => /^[\w,"]+$/.test(token));
}

export interface SqlAnswer {
  /** In the statement's order. */
  readonly columns: readonly string[];
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
  const sorted = pageable && (await inTotalOrder(ask, pageable, cut.columns.length));
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
