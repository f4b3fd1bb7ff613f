import { compareValues, type Order, type SortValue } from "../../ui/order.ts";

export type Dialect = "sqlite" | "postgres";

/** Words and symbols of a statement in lower case, without strings, quoted names and comments. */
type Tokens = readonly string[];

const common = [
  // `|$`: an unclosed string ends with the text.
  /--[^\n]*/y,
  /'(?:[^']|'')*(?:'|$)/y,
  /"(?:[^"]|"")*(?:"|$)/y,
];
const ignored: Readonly<Record<Dialect, readonly RegExp[]>> = {
  sqlite: [/\/\*[\s\S]*?(?:\*\/|$)/y, /`(?:[^`]|``)*(?:`|$)/y, /\[[^\]]*(?:\]|$)/y, ...common],
  postgres: [
    /e'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/iy,
    /\$(?<tag>(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?(?:\$\k<tag>\$|$)/iy,
    ...common,
  ],
};
const wordPattern = /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy;

/** Splits a text into statements and their tokens. This is enough to classify them, not to parse them. */
function tokenize(sql: string, dialect: Dialect): readonly Tokens[] {
  const statements: string[][] = [[]];
  for (let at = 0; at < sql.length; ) {
    const after = skipIgnored(sql, at, dialect);
    if (after > at) {
      at = after;
      continue;
    }
    const found = matchAt(wordPattern, sql, at) || (sql[at] ?? "");
    at += found.length;
    if (found === ";") statements.push([]);
    else if (found.trim() !== "") statements.at(-1)?.push(found.toLowerCase());
  }
  return statements.filter(({ length }) => length > 0);
}

function skipIgnored(sql: string, at: number, dialect: Dialect): number {
  if (dialect === "postgres" && sql.startsWith("/*", at)) return skipNestedComment(sql, at);
  for (const pattern of ignored[dialect]) {
    const found = matchAt(pattern, sql, at);
    if (found !== "") return at + found.length;
  }
  return at;
}

/** Comments nest in PostgreSQL. */
function skipNestedComment(sql: string, start: number): number {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = start;
  let depth = 0;
  for (let found = edge.exec(sql); found !== null; found = edge.exec(sql)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return sql.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

const readKeywords = new Set(["select", "values", "with", "show", "table"]);
/** SELECT with letters lost, doubled or swapped. No statement begins with such a word. */
const mistypedSelect = /^(?!select$)s[selct]{3,7}$/;
const writeKeywords = new Set(["insert", "update", "delete", "merge", "into"]);
/** Pragmas that only read, even with an argument. */
const readOnlyPragmas =
  /^(table_info|table_xinfo|table_list|index_list|index_info|index_xinfo|foreign_key_list|foreign_key_check|integrity_check|quick_check)$/;
/** Pragmas that write even without an argument. */
const writingPragmas = /^(wal_checkpoint|optimize|incremental_vacuum|shrink_memory)$/;

/**
 * Whether a text may change something, judged by its keywords. This is not a security boundary: a SELECT can call a function that
 * writes. While the kind of database is unknown, the text must be harmless on both.
 */
export function mayChange(sql: string, dialect: Dialect | undefined): boolean {
  const dialects: readonly Dialect[] = dialect === undefined ? ["sqlite", "postgres"] : [dialect];
  return dialects.some((one) => tokenize(sql, one).some(changes));
}

/**
 * Counts the statements of a text. A statement that defines a trigger or a routine counts as one with everything after it, because
 * its body contains semicolons.
 */
export function countStatements(sql: string, dialect: Dialect | undefined): number {
  const statements = tokenize(sql, dialect ?? "sqlite");
  const routine = statements.findIndex(
    ([first, ...tokens]) =>
      first === "create" && tokens.slice(0, 4).some((token) => /^(trigger|function|procedure)$/.test(token)),
  );
  return routine === -1 ? statements.length : routine + 1;
}

function changes(tokens: Tokens): boolean {
  const [first = ""] = tokens;
  if (first === "(") return changes(tokens.slice(1));
  if (first === "explain") return explainChanges(tokens.slice(1));
  if (first === "pragma") return pragmaChanges(tokens.slice(1));
  // It is not a statement, so the database answers with a syntax error. Asking whether to run it would only be in the way.
  if (mistypedSelect.test(first)) return false;
  if (!readKeywords.has(first)) return true;
  return tokens.some((token, at) => writeKeywords.has(token) && !isLock(tokens, at));
}

/** Whether `update` belongs to a row lock: `SELECT … FOR UPDATE`, `FOR NO KEY UPDATE`. */
function isLock(tokens: Tokens, at: number): boolean {
  return tokens[at] === "update" && (tokens[at - 1] === "for" || tokens[at - 1] === "key");
}

/** EXPLAIN ANALYZE runs what it explains. */
function explainChanges(tokens: Tokens): boolean {
  const isOption = (token: string) => token === "analyze" || token === "analyse" || token === "verbose";
  const start = tokens[0] === "(" ? tokens.indexOf(")") + 1 : tokens.findIndex((token) => !isOption(token));
  const runs = tokens.slice(0, Math.max(start, 0)).some((token) => /^analy[sz]e$/.test(token));
  return runs && changes(tokens.slice(start));
}

function pragmaChanges(tokens: Tokens): boolean {
  if (tokens.includes("=")) return true;
  const name = tokens.findLast((_, at) => at === 0 || tokens[at - 1] === ".") ?? "";
  return tokens.includes("(") ? !readOnlyPragmas.test(name) : writingPragmas.test(name);
}

export type Row = Readonly<Record<string, unknown>>;

/** Longest text of a grid cell; the viewer shows the whole value. */
const maxCellChars = 200;

/** Whole value as text. */
export function toText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Value as one line for the grid, truncated if it is long. */
export function toCell(value: unknown): string {
  const text = toText(value);
  const line = text.slice(0, maxCellChars).replace(/\r?\n|\r/g, "⏎");
  return text.length > maxCellChars ? `${line}…` : line;
}

/** Value for the viewer: JSON, even if stored as text, is indented. */
export function toReadable(value: unknown): string {
  if (typeof value === "object" && value !== null) return JSON.stringify(value, null, 2);
  // Parsing would change numbers with more digits than a double holds.
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || /\d{16}/.test(value)) return toText(value);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    // The text only starts like JSON.
    return value;
  }
}

/** Whether a number may have lost digits: numbers are doubles in the browser, exact only up to 2^53. */
export function isRounded(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Width of each column in characters, from its name and first values. */
export function columnWidths(columns: readonly string[], rows: readonly Row[]): readonly number[] {
  const sample = rows.slice(0, 200);
  return columns.map((column) => {
    const lengths = sample.map((row) => toCell(row[column]).length);
    // A name has the sign of the order beside it.
    return Math.min(40, Math.max(5, column.length + 2, ...lengths) + 3);
  });
}

const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i;

/** Whether a spreadsheet would run the text as a formula when it opens the file. */
function isFormula(value: unknown): value is string {
  return typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !number.test(value);
}

/**
 * CSV by RFC 4180 with a header line. NULL is an empty field, an empty text is `""`. Formulas get a leading apostrophe, so that
 * a spreadsheet runs nothing when it opens the file; JSON has the exact values.
 */
export function toCsv(columns: readonly string[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((column) => field(row[column])));
  return [columns.map(field), ...lines].map((fields) => `${fields.join(",")}\r\n`).join("");
}

export function countFormulas(columns: readonly string[], rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + columns.filter((column) => isFormula(row[column])).length, 0);
}

export function toJson(rows: readonly Row[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = isFormula(value) ? `'${value}` : toText(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Next of the three states of a column head: ascending, descending, as the database returned them. */
export function nextOrder(before: Order | undefined, column: string): Order | undefined {
  if (before?.column !== column) return { column, isDown: false };
  return before.isDown ? undefined : { column, isDown: true };
}

/** Rows with `text` in at least one of their values, whatever its case. */
export function filterRows(rows: readonly Row[], text: string): readonly Row[] {
  if (text === "") return rows;
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
  return rows.filter((row) => Object.values(row).some((value) => pattern.test(toText(value))));
}

/** Rows in an order. Equal ones stay as they were, and NULL is last in both directions. */
export function sortRows(rows: readonly Row[], order: Order | undefined): readonly Row[] {
  if (order === undefined) return rows;
  const keys = sortKeys(rows.map((row) => row[order.column]));
  return keys
    .map((key, at) => ({ key, row: rows[at] as Row }))
    .sort((one, other) => compareValues(one.key, other.key, order.isDown))
    .map(({ row }) => row);
}

const numeric = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i;

/** PostgreSQL returns `numeric` as text, so a column of nothing but numbers in texts is sorted as numbers too. */
function sortKeys(values: readonly unknown[]): readonly SortValue[] {
  const isNumeric = values.every((value) => typeof value !== "string" || numeric.test(value));
  return values.map((value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    return isNumeric && typeof value === "string" ? Number(value) : toText(value);
  });
}

/** One step of a query plan. */
export interface PlanStep {
  /** What the database does, such as `SEARCH token USING INDEX token_key`. */
  readonly title: string;
  /** Conditions and keys, as the database names them. */
  readonly details: readonly string[];
  /** PostgreSQL's estimates. */
  readonly estimate?: { readonly rows: number; readonly cost: number };
  /** Whether it reads a whole table. */
  readonly readsAll: boolean;
  readonly children: readonly PlanStep[];
}

/**
 * Line before a statement that makes the database explain it. The options of PostgreSQL are written out, so that a text which begins
 * with ANALYZE, and would be run, is a syntax error.
 */
export const explainPrefix: Readonly<Record<Dialect, string>> = {
  sqlite: "EXPLAIN QUERY PLAN\n",
  postgres: "EXPLAIN (ANALYZE FALSE, FORMAT JSON)\n",
};

/** Reads the rows that an explained statement returns. */
export function readPlan(rows: readonly Row[], dialect: Dialect): readonly PlanStep[] {
  return dialect === "sqlite" ? sqliteSteps(rows, 0) : rows.flatMap(postgresSteps);
}

/** Each row names its parent; 0 is the statement itself. */
function sqliteSteps(rows: readonly Row[], parent: unknown): readonly PlanStep[] {
  return rows
    .filter((row) => row.parent === parent)
    .map((row) => {
      const title = String(row.detail);
      return {
        title,
        details: [],
        // Of an index that contains all columns, SQLite reads the index instead, as a whole too.
        readsAll: /^SCAN (?!CONSTANT ROW|\()/.test(title),
        children: sqliteSteps(rows, row.id),
      };
    });
}

type PlanNode = Readonly<Record<string, unknown>>;

/** The one row is a list of `{ Plan }`. */
function postgresSteps(row: Row): PlanStep[] {
  const [value] = Object.values(row);
  const list: unknown = typeof value === "string" ? JSON.parse(value) : value;
  const plans = Array.isArray(list) ? list.map((one) => (one as PlanNode).Plan) : [];
  return plans.filter((plan) => plan !== undefined).map((plan) => postgresStep(plan as PlanNode));
}

/** Members that are part of the title or the estimate, or that say nothing to a reader. */
const otherMembers =
  /^(Node Type|Relation Name|Alias|Index Name|CTE Name|Plans|Startup Cost|Total Cost|Plan Rows|Plan Width|Parallel Aware|Async Capable|Disabled|Parent Relationship|Schema|Scan Direction|Operation)$/;

function postgresStep(node: PlanNode): PlanStep {
  const type = String(node["Node Type"]);
  const kind = type === "ModifyTable" ? String(node.Operation) : type;
  const on = node["Relation Name"] ?? node["CTE Name"];
  const using = node["Index Name"];
  const children = Array.isArray(node.Plans) ? (node.Plans as PlanNode[]) : [];
  return {
    title: [kind, using && `using ${using}`, on && `on ${on}`].filter(Boolean).join(" "),
    details: Object.entries(node)
      .filter(([name, value]) => !otherMembers.test(name) && value !== false && value !== null)
      .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : String(value)}`),
    estimate: { rows: Number(node["Plan Rows"]), cost: Number(node["Total Cost"]) },
    readsAll: kind === "Seq Scan",
    children: children.map(postgresStep),
  };
}
