import { splitPgStatements } from "./postgres/statements.ts";
import { skipGap } from "./rows.ts";

/** A longer text is read up to here only, and taken to write. */
const maxReadChars = 64 * 1024;
/** Statements of one request whose first words are returned. */
const maxNamed = 10;

/** First words of statements that can read only, if none of `writingWords` follows. */
const readingWords = /^(select|values|table|show|explain|with)\b/i;
/**
 * Words that make such a statement write: `EXPLAIN ANALYZE DELETE`, `WITH x AS (UPDATE …)`, `SELECT … INTO`, and PostgreSQL's own functions
 * with effects. A wrong yes, as for a column of that name, only means an entry more.
 */
const writingWords =
  /\b(insert|update|delete|merge|replace|into|create|drop|alter|truncate|nextval|setval|set_config|lo_\w+|dblink\w*|pg_\w+\s*\()/i;
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
    (readingWords.test(statement) && !writingWords.test(withoutTexts(statement)))
  );
}

/** Without comments, texts and quoted names, in which words mean nothing. */
function withoutTexts(statement: string): string {
  return statement.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"/g, " ");
}
