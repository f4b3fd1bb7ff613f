import { type Dialect, statementsIn, type Words } from "./words.ts";

const reading = new Set(["select", "values", "with", "show", "table"]);
const changing = new Set(["insert", "update", "delete", "merge", "into"]);
/** Pragmas that only tell, also with an argument. */
const telling =
  /^(table_info|table_xinfo|table_list|index_list|index_info|index_xinfo|foreign_key_list|foreign_key_check|integrity_check|quick_check)$/;
/** Pragmas that do something without one. */
const doing = /^(wal_checkpoint|optimize|incremental_vacuum|shrink_memory)$/;

/**
 * Whether a text may change something, as far as its words tell. It is no wall: a SELECT can call a function that does. While
 * the kind of database is unknown, a text must be harmless on both.
 */
export function mayChange(sql: string, dialect: Dialect | undefined): boolean {
  const dialects: readonly Dialect[] = dialect === undefined ? ["sqlite", "postgres"] : [dialect];
  return dialects.some((one) => statementsIn(sql, one).some(changes));
}

/** Whether the last statement, whose result is answered, asks for rows. */
export function asksForRows(sql: string, dialect: Dialect | undefined): boolean {
  const last = statementsIn(sql, dialect ?? "sqlite").at(-1);
  return last !== undefined && !changes(last);
}

/**
 * Counts the statements of a text. One that defines a trigger or a routine counts as one with all that follows, because its body holds
 * semicolons of its own.
 */
export function countStatements(sql: string, dialect: Dialect | undefined): number {
  const statements = statementsIn(sql, dialect ?? "sqlite");
  const routine = statements.findIndex(
    ([first, ...words]) =>
      first === "create" && words.slice(0, 4).some((word) => /^(trigger|function|procedure)$/.test(word)),
  );
  return routine === -1 ? statements.length : routine + 1;
}

function changes(words: Words): boolean {
  const [first = ""] = words;
  if (first === "(") return changes(words.slice(1));
  if (first === "explain") return explainChanges(words.slice(1));
  if (first === "pragma") return pragmaChanges(words.slice(1));
  if (!reading.has(first)) return true;
  return words.some((word, at) => changing.has(word) && !isLock(words, at));
}

/** `SELECT … FOR UPDATE`, `FOR NO KEY UPDATE`. */
function isLock(words: Words, at: number): boolean {
  return words[at] === "update" && (words[at - 1] === "for" || words[at - 1] === "key");
}

/** EXPLAIN ANALYZE runs what it explains. */
function explainChanges(words: Words): boolean {
  const isOption = (word: string) => word === "analyze" || word === "analyse" || word === "verbose";
  const start = words[0] === "(" ? words.indexOf(")") + 1 : words.findIndex((word) => !isOption(word));
  const runs = words.slice(0, Math.max(start, 0)).some((word) => /^analy[sz]e$/.test(word));
  return runs && changes(words.slice(start));
}

function pragmaChanges(words: Words): boolean {
  if (words.includes("=")) return true;
  const name = words.findLast((_, at) => at === 0 || words[at - 1] === ".") ?? "";
  return words.includes("(") ? !telling.test(name) : doing.test(name);
}
