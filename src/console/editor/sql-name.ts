/** Reserved words that people use as names of tables and columns. */
const reserved = new Set(
  "all and as asc by case check column default desc distinct do else end for foreign from grant group having in index into is join key like limit not null offset on or order primary references select set table then to union unique user using values when where with".split(
    " ",
  ),
);

/** Quotes a name for SQL where it would be read as something else. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : quoteAlways(name);
}

/** Quotes a name for SQL, whatever it is. */
export function quoteAlways(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
