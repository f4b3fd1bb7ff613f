export type Dialect = "sqlite" | "postgres";

/** A statement as its words and signs, in lower case; strings, quoted names and comments are left out. */
export type Words = readonly string[];

const common = [
  // The end of the text ends what is open.
  /--[^\n]*/y,
  /'(?:[^']|'')*(?:'|$)/y,
  /"(?:[^"]|"")*(?:"|$)/y,
];
const skipped: Readonly<Record<Dialect, readonly RegExp[]>> = {
  sqlite: [/\/\*[\s\S]*?(?:\*\/|$)/y, /`(?:[^`]|``)*(?:`|$)/y, /\[[^\]]*(?:\]|$)/y, ...common],
  postgres: [
    /e'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/iy,
    /\$(?<tag>(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?(?:\$\k<tag>\$|$)/iy,
    ...common,
  ],
};
const word = /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy;

/** The statements of a text, as far as it takes to tell what each does. */
export function statementsIn(sql: string, dialect: Dialect): readonly Words[] {
  const statements: string[][] = [[]];
  for (let at = 0; at < sql.length; ) {
    const past = pastSkipped(sql, at, dialect);
    if (past > at) {
      at = past;
      continue;
    }
    const found = matchAt(word, sql, at) || (sql[at] ?? "");
    at += found.length;
    if (found === ";") statements.push([]);
    else if (found.trim() !== "") statements.at(-1)?.push(found.toLowerCase());
  }
  return statements.filter(({ length }) => length > 0);
}

function pastSkipped(sql: string, at: number, dialect: Dialect): number {
  if (dialect === "postgres" && sql.startsWith("/*", at)) return pastNestedComment(sql, at);
  for (const pattern of skipped[dialect]) {
    const found = matchAt(pattern, sql, at);
    if (found !== "") return at + found.length;
  }
  return at;
}

/** In PostgreSQL a comment may hold comments. */
function pastNestedComment(sql: string, start: number): number {
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
