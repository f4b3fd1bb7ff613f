import { skipGap } from "./operator-sql.ts";
import { commentEnd, quoteEnd, splitPgStatements } from "./postgres/statements.ts";

/** A longer text is shown up to here only. */
const maxShownChars = 16 * 1024;

const number = /[0-9][\w.]*/;
const text = /'(?:[^']|'')*'/;
const doubleQuoted = /"(?:[^"]|"")*"/;
const word = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/;
const placeholder = /[$?:@][\w]+/;
const lineComment = /--[^\n]*/;

/** Tokens of each database; a text without its end is the rest. */
const tokens = {
  sqlite: anyOf([
    ...[lineComment, /\/\*[\s\S]*?(?:\*\/|$)/, text, doubleQuoted, /`(?:[^`]|``)*`/, /\[[^\]]*\]/],
    ...[placeholder, number, word, /['"`[][\s\S]*$/, /[\s\S]/],
  ]),
  postgres: anyOf([
    ...[lineComment, /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/, /[eE]'[\s\S]*$/, text, doubleQuoted],
    ...[/\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/, placeholder, number, word, /\/\*/],
    ...[/['"][\s\S]*$/, /[\s\S]/],
  ]),
};

/**
 * `withoutValues` returns an SQL text for the log: every text and number in it is `?`, and comments are left out, because a value
 * may be a secret. On SQLite what stands in double quotes may be a text, too.
 */
export function withoutValues(sql: string, kind: "sqlite" | "postgres"): string {
  // With that setting a backslash hides the end of a text.
  if (/standard_conforming_strings/i.test(sql)) return "?";
  const cut = sql.slice(0, maxShownChars);
  const shown = replaceTokens(cut, kind, (token) => (isValue(token, kind) ? "?" : token));
  return `${shown.trim()}${sql.length > cut.length ? " …" : ""}`;
}

/** Replaces each token. Comments are left out, and a text in dollars is a value. */
function replaceTokens(sql: string, kind: "sqlite" | "postgres", replace: (token: string) => string): string {
  const pattern = new RegExp(tokens[kind], "g");
  let replaced = "";
  for (let match = pattern.exec(sql); match !== null; match = pattern.exec(sql)) {
    const [token] = match;
    if (token.startsWith("--")) continue;
    if (token.startsWith("/*")) {
      if (kind === "postgres") pattern.lastIndex = commentEnd(sql, match.index);
      replaced += " ";
    } else if (kind === "postgres" && /^\$.*\$$/.test(token)) {
      pattern.lastIndex = quoteEnd(sql, match.index + token.length, token);
      replaced += replace("''");
    } else replaced += replace(token);
  }
  return replaced;
}

function isValue(token: string, kind: "sqlite" | "postgres"): boolean {
  if (/^(?:[eE]?'|[0-9])/.test(token)) return true;
  if (token.startsWith('"')) return kind === "sqlite" || token.length === 1 || !token.endsWith('"');
  return /^[`[]/.test(token) && !/[`\]]$/.test(token);
}

function anyOf(patterns: readonly RegExp[]): string {
  return patterns.map(({ source }) => source).join("|");
}

/** A longer text is read up to here only, and taken to write. */
const maxReadChars = 64 * 1024;
/** Statements of one request whose first words are returned. */
const maxNamed = 10;

/** First words of statements that can read only, if none of `writingWords` follows. */
const readingWords = /^(select|values|table|show|explain|with)\b/i;
/**
 * Words that make such a statement write: `EXPLAIN ANALYZE DELETE`, `WITH x AS (UPDATE …)`, `SELECT … INTO`, and PostgreSQL's own functions
 * with effects. A backslash can spell such a word in a quoted name. A wrong yes, as for a column of that name, only means an entry more.
 */
const writingWords =
  /\b(insert|update|delete|merge|replace|into|create|drop|alter|truncate|nextval|setval|set_config|lo_\w+|dblink\w*|pg_\w+\s*\()|\\/i;
/** Pragmas of SQLite that only report: a bare name, or one of those that take the name of a table or index. */
const readingPragma =
  /^pragma\s+(\w+\s*\.\s*)?(\w+|(table_x?info|table_list|index_x?info|index_list|foreign_key_list|foreign_key_check|integrity_check|quick_check)\s*\([^)]*\))\s*$/i;

/**
 * `writingStatements` returns the first words of the statements of an SQL text, in capitals, if any of them can write; else none.
 * It errs on the side of writing, with one exception: a function that an operator has defined in PostgreSQL may write when a
 * SELECT calls it.
 */
export function writingStatements(sql: string): readonly string[] {
  const statements = splitPgStatements(sql.slice(0, maxReadChars)).map((piece) => skipGap(piece.sql));
  if (sql.length <= maxReadChars && statements.every(isReading)) return [];
  const verbs = statements.map((statement) => /^[A-Za-z]+/.exec(statement)?.[0].toUpperCase() ?? "?");
  return verbs.length <= maxNamed ? verbs : [...verbs.slice(0, maxNamed), "…"];
}

function isReading(statement: string): boolean {
  return (
    readingPragma.test(statement) ||
    // Each database reads some quotes in a way of its own, and a word may hide where one of them sees a text.
    (readingWords.test(statement) &&
      !(["sqlite", "postgres"] as const).some((kind) => writingWords.test(wordsOf(statement, kind))))
  );
}

/** The words of a statement, also those in quoted names, without values. */
function wordsOf(statement: string, kind: "sqlite" | "postgres"): string {
  // With that setting a backslash hides the end of a text.
  if (kind === "postgres" && /\\'/.test(statement)) return statement;
  return replaceTokens(statement, kind, (token) =>
    /^["`[]/.test(token) ? token.slice(1).replace(/["`\]]$/, "") : isValue(token, kind) ? " " : token,
  );
}
