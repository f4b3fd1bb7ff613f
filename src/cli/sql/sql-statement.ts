/** Comments, strings and quoted names, in which a `;` does not end a statement. One that is not closed runs to the end of the text. */
const enclosed = new RegExp(
  [
    /--[^\n]*/,
    /\/\*[\s\S]*?(?:\*\/|$)/,
    /'(?:[^']|'')*(?:'|$)/,
    /"(?:[^"]|"")*(?:"|$)/,
    /`[^`]*(?:`|$)/,
    /(\$[A-Za-z_]*\$)[\s\S]*?(?:\1|$)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/** `isComplete` returns whether a text ends with a `;` outside of strings, names and comments. */
export function isComplete(text: string): boolean {
  let open = false;
  const bare = text.replace(enclosed, (piece) => {
    open = isOpen(piece);
    return piece.startsWith("-") || piece.startsWith("/") ? " " : "x";
  });
  if (open || !/;\s*$/.test(bare)) return false;
  // The statements in the body of a SQLite trigger end with `;` too.
  const isTrigger = /(?:^|;)\s*create\s+(?:temp\s+|temporary\s+)?trigger\b[^;]*\bbegin\b/i.test(bare);
  return !isTrigger || /;\s*end\s*;\s*$/i.test(bare);
}

/**
 * `hasSeveral` returns whether a text has more than one statement. False for triggers and SQL functions, whose bodies have statements
 * of their own.
 */
export function hasSeveral(text: string): boolean {
  const tokens = sqlTokens(text).map((found) => found.text.toLowerCase());
  if (tokens.includes("trigger") || tokens.includes("atomic")) return false;
  const end = tokens.indexOf(";");
  return end !== -1 && tokens.slice(end).some((found) => found !== ";");
}

function isOpen(piece: string): boolean {
  if (piece.startsWith("--")) return false;
  if (piece.startsWith("/*")) return piece.length < 4 || !piece.endsWith("*/");
  const mark = /^\$[A-Za-z_]*\$/.exec(piece)?.[0] ?? piece.slice(0, 1);
  if (piece.length < mark.length * 2 || !piece.endsWith(mark)) return true;
  // `'it''` is open: its last two characters are one quoted quote.
  return mark.length === 1 && mark !== "`" && piece.slice(1).split(mark).length % 2 === 1;
}

interface SqlToken {
  readonly text: string;
  /** The offset in the statement. */
  readonly at: number;
}

const token = new RegExp(
  `${enclosed.source}|[A-Za-z_\\u0080-\\uffff][\\w$\\u0080-\\uffff]*|\\d[\\w.]*|[^\\s]`,
  "g",
);

/** Splits a statement into words, names, literals and punctuation, without its comments. */
export function sqlTokens(statement: string): SqlToken[] {
  return [...statement.matchAll(token)]
    .map(({ 0: text, index: at }) => ({ text, at }))
    .filter(({ text }) => !text.startsWith("--") && !text.startsWith("/*"));
}
