import { Fault } from "../base/fault.ts";
import { detail, type Level, type LogEntry, levels } from "./entry.ts";

/** The library targets that stand behind the virtual target `db`. */
const dbTargets = ["sea_orm", "sea_orm_migration", "sqlx"];
/** The targets that the contract names, those of services that are no part of this server included. */
export const contractTargets: readonly string[] = [
  ...["server", "rpc", "db", "kv", "monitoring", "task", "token", "terminal"],
  ...["js_worker", "js_result", "js_runtime", "crontab", "crontab_result"],
];
const targets = [...contractTargets, ...dbTargets];
/** The words that a filter may be made of. */
export const filterNames: readonly string[] = [
  "off",
  ...levels.map((level) => level.toLowerCase()),
  ...targets,
];

/** What a reader sees instead of a database library's own target. */
export function shownTarget(target: string): string {
  const crate = target.split("::", 1)[0] ?? target;
  return dbTargets.includes(crate) ? "db" : target;
}

/**
 * A parsed filter in the grammar of `RUST_LOG`: `info`, `db=trace`, `token`, `off`, joined by commas.
 * Only `parseFilter` makes one.
 */
export class Filter {
  /** What passes where no rule names the target. */
  readonly #base: number;
  /** Most specific first. */
  readonly #rules: ReadonlyArray<readonly [target: string, detail: number]>;

  constructor(
    /** As it was written. */
    readonly text: string,
    base: number,
    rules: ReadonlyArray<readonly [target: string, detail: number]>,
  ) {
    this.#base = base;
    this.#rules = rules;
  }

  /** How detailed an event of this target may be: 0 for none up to 5 for TRACE. */
  detailFor(target: string): number {
    for (const [name, allowed] of this.#rules) {
      if (target === name || target.startsWith(`${name}::`)) return allowed;
    }
    return this.#base;
  }

  /** Targets that the rules name and nothing logs under: a misspelt level looks like one. */
  unknownTargets(): string[] {
    return this.#rules
      .map(([target]) => target)
      .filter((target) => !targets.some((known) => target === known || target.startsWith(`${known}::`)));
  }

  /** The same for an entry that is written already. Which of the database libraries spoke is not in it: one that may is enough. */
  passes({ target, level }: Pick<LogEntry, "target" | "level">): boolean {
    const targets = target === "db" ? dbTargets : [target];
    return targets.some((name) => detail[level] <= this.detailFor(name));
  }
}

const maxFilterChars = 4096;

export function parseFilter(text: string): Filter {
  let base = 0;
  const rules = new Map<string, number>();
  if (text.length > maxFilterChars)
    throw unreadable(text, maxFilterChars, `it is longer than ${maxFilterChars} characters`);
  const items = itemsOf(text);
  if (items.length === 0) throw unreadable(text, 0, "it is empty; write a level such as `info`");
  for (const { item, at } of items) {
    const [name = "", level, ...rest] = item.split("=").map((part) => part.trim());
    const bare = level === undefined ? parseDetail(name) : undefined;
    if (bare !== undefined) {
      base = bare;
      continue;
    }
    if (rest.length > 0 || !/^[\w:.\-/]+$/.test(name)) {
      throw unreadable(text, at, `\`${item}\` is neither a level, a target nor \`target=level\``);
    }
    const allowed = level === undefined ? detail.TRACE : parseDetail(level);
    if (allowed === undefined) {
      throw unreadable(text, at, `\`${level}\` is no level; use off, error, warn, info, debug or trace`);
    }
    for (const target of name === "db" ? dbTargets : [name]) rules.set(target, allowed);
  }
  return new Filter(
    text,
    base,
    [...rules].sort(([a], [b]) => b.length - a.length),
  );
}

/** What stands between the commas, without the spaces around it, and where it begins. */
function itemsOf(text: string): { readonly item: string; readonly at: number }[] {
  let start = 0;
  return text.split(",").flatMap((part) => {
    const at = start + part.length - part.trimStart().length;
    start += part.length + 1;
    const item = part.trim().toLowerCase();
    return item === "" ? [] : [{ item, at }];
  });
}

function parseDetail(word: string): number | undefined {
  if (word === "off") return 0;
  if (/^[0-5]$/.test(word)) return Number(word);
  const level = word.toUpperCase() as Level;
  return levels.includes(level) ? detail[level] : undefined;
}

function unreadable(text: string, at: number, why: string): Fault {
  return new Fault("InvalidInput", `the log filter \`${text.slice(0, 200)}\` cannot be read: ${why}`, {
    field: "log_filter",
    column: at + 1,
    why,
  });
}
