import { skipGap } from "../operator-sql.ts";

/** Tokens that are skipped as a whole in the search for the `;` between statements. */
const pieces = new RegExp(
  [
    /--[^\n]*/, // comment to the end of the line
    /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/, // text with backslash escapes
    /'(?:[^']|'')*'/, // text
    /"(?:[^"]|"")*"/, // quoted name
    /\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/, // opening of a dollar-quoted text
    /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/, // word
    /\/\*/, // opening of a comment, which may hold others
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

export interface Piece {
  readonly sql: string;
  /** The offset of the statement in the whole text. */
  readonly offset: number;
}

/**
 * `splitPgStatements` splits a text into statements, without empty ones. The body of a standard SQL function (`BEGIN ATOMIC … END`)
 * and the commands of a rule (`DO (…; …)`) are part of their statement.
 */
export function splitPgStatements(sql: string): Piece[] {
  const found: Piece[] = [];
  let start = 0;
  let hasWords = false;
  let bodies = 0;
  let parentheses = 0;
  let previous = "";
  const close = (end: number) => {
    if (hasWords) found.push({ sql: sql.slice(start, end), offset: start });
    start = end + 1;
    hasWords = false;
    bodies = 0;
    parentheses = 0;
  };
  pieces.lastIndex = 0;
  for (let match = pieces.exec(sql); match !== null; match = pieces.exec(sql)) {
    const [piece] = match;
    if (piece === "/*") pieces.lastIndex = commentEnd(sql, match.index);
    else if (piece.startsWith("$") && piece.length > 1)
      pieces.lastIndex = quoteEnd(sql, match.index + piece.length, piece);
    if (piece === "(") parentheses += 1;
    if (piece === ")") parentheses -= 1;
    if (piece === ";" && bodies === 0 && parentheses <= 0) {
      close(match.index);
      continue;
    }
    if (piece.startsWith("--") || piece === "/*" || /^\s$/.test(piece)) continue;
    hasWords ||= piece !== ";";
    const word = piece.toUpperCase();
    if (word === "ATOMIC" && previous === "BEGIN") bodies += 1;
    else if (word === "CASE" && bodies > 0) bodies += 1;
    else if (word === "END" && bodies > 0) bodies -= 1;
    previous = word;
  }
  close(sql.length);
  return found;
}

/** `commentEnd` is where a comment ends that begins at `start`, and may hold others. */
export function commentEnd(sql: string, start: number): number {
  let depth = 0;
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  for (let match = mark.exec(sql); match !== null; match = mark.exec(sql)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return sql.length;
}

/** `quoteEnd` is where a dollar-quoted text ends, of which the content begins at `from`. */
export function quoteEnd(sql: string, from: number, quote: string): number {
  const end = sql.indexOf(quote, from);
  return end < 0 ? sql.length : end + quote.length;
}

/**
 * `changesRows` returns whether a statement may change rows. A wrong yes for a SELECT only means that more of it is read than
 * necessary.
 */
export function changesRows(sql: string): boolean {
  const statement = skipGap(sql);
  return (
    /^(insert|update|delete|merge)\b/i.test(statement) ||
    (/^with\b/i.test(statement) && /\b(insert|update|delete|merge)\b/i.test(statement))
  );
}

/**
 * `commitsByItself` returns whether a statement outside of a transaction may commit part of its work before its end. A wrong yes does
 * no harm.
 */
export function commitsByItself(sql: string): boolean {
  const statement = skipGap(sql);
  return (
    /^(do|call|vacuum|analyze|cluster|reindex)\b/i.test(statement) || /\bconcurrently\b/i.test(statement)
  );
}

/** `endsTransaction` returns whether a statement commits the transaction that it is in. */
export function endsTransaction(sql: string): boolean {
  return /^(commit|end|prepare)\b/i.test(skipGap(sql));
}
