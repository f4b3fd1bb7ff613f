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

/** Whether the last statement, whose result the server returns, reads rows. */
export function asksForRows(sql: string, dialect: Dialect | undefined): boolean {
  const last = tokenize(sql, dialect ?? "sqlite").at(-1);
  return last !== undefined && !changes(last);
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
