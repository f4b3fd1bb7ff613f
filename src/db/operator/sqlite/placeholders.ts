/** Tokens that may contain a question mark which is not a placeholder, and the placeholders themselves. */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?\d*|[:@$][\w$\u0080-\uffff]+|[\w$\u0080-\uffff]+/g;

export interface Placeholders {
  /** The same statement, of the same length, with a plain `?` for every placeholder. */
  readonly sql: string;
  /** For each `?` the index of its parameter, from 0. */
  readonly order: readonly number[];
  /** The number of parameters that the statement takes. */
  readonly count: number;
}

/**
 * `numberPlaceholders` resolves SQLite's numbering: `?` takes the next number, `?7` the given one, a name the one it got first. The
 * driver supports plain `?` only, so the others are rewritten.
 */
export function numberPlaceholders(sql: string): Placeholders {
  const names = new Map<string, number>();
  const order: number[] = [];
  let count = 0;
  const plain = sql.replace(tokens, (token) => {
    if (!/^[?:@$]/.test(token)) return token;
    const wanted =
      token === "?" ? undefined : token.startsWith("?") ? Number(token.slice(1)) : names.get(token);
    const number = wanted ?? count + 1;
    if (!token.startsWith("?")) names.set(token, number);
    count = Math.max(count, number);
    order.push(number - 1);
    return "?".padEnd(token.length);
  });
  return { sql: plain, order, count };
}
