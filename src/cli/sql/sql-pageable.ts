import { sqlTokens } from "./sql-statement.ts";

/** Pageable is a statement that may be run for each page: it changes nothing and gives the same rows each time. */
export interface Pageable {
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
