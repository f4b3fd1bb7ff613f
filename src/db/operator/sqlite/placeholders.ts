/** What may hold a question mark that is no placeholder, and the placeholders themselves. */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?\d*|[:@$][\w$\u0080-\uffff]+|[\w$\u0080-\uffff]+/g;

export interface Placeholders {
  /** The same statement, as long as before, with a plain `?` for every placeholder. */
  readonly sql: string;
  /** For each `?`, which param it takes, counted from 0. */
  readonly order: readonly number[];
  /** How many params the statement takes. */
  readonly count: number;
}

/**
 * SQLite numbers placeholders: `?` takes the next number, `?7` the one it says, a name the one it got first. The driver fills
 * plain ones only, so the others are spelled as such.
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
