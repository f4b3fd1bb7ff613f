import { commentEnd, quoteEnd } from "./postgres/statements.ts";

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
 * `withoutValues` is an SQL text for the log: every text and number in it is `?`, and comments are left out, because a value may be a
 * secret. On SQLite what stands in double quotes may be a text, too.
 */
export function withoutValues(sql: string, kind: "sqlite" | "postgres"): string {
  // With that setting a backslash hides the end of a text.
  if (/standard_conforming_strings/i.test(sql)) return "?";
  const pattern = new RegExp(tokens[kind], "g");
  const cut = sql.slice(0, maxShownChars);
  let shown = "";
  for (let match = pattern.exec(cut); match !== null; match = pattern.exec(cut)) {
    const [token] = match;
    if (token.startsWith("--")) continue;
    if (token.startsWith("/*")) {
      if (kind === "postgres") pattern.lastIndex = commentEnd(cut, match.index);
      shown += " ";
    } else if (kind === "postgres" && /^\$.*\$$/.test(token)) {
      pattern.lastIndex = quoteEnd(cut, match.index + token.length, token);
      shown += "?";
    } else shown += isValue(token, kind) ? "?" : token;
  }
  return `${shown.trim()}${sql.length > cut.length ? " …" : ""}`;
}

function isValue(token: string, kind: "sqlite" | "postgres"): boolean {
  if (/^(?:[eE]?'|[0-9])/.test(token)) return true;
  if (token.startsWith('"')) return kind === "sqlite" || token.length === 1 || !token.endsWith('"');
  return /^[`[]/.test(token) && !/[`\]]$/.test(token);
}

function anyOf(patterns: readonly RegExp[]): string {
  return patterns.map(({ source }) => source).join("|");
}
