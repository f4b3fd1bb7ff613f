import { Fault } from "../base/fault.ts";
import { detail, type Level, type LogEntry, levels } from "./entry.ts";

/** The targets of database libraries, which the virtual target `db` stands for. */
export const dbTargets: readonly string[] = ["sea_orm", "sea_orm_migration", "sqlx"];
/** `contractTargets` are the targets that the contract names, including those of services that this server does not have. */
export const contractTargets: readonly string[] = [
  ...["server", "rpc", "db", "kv", "monitoring", "task", "token", "terminal"],
  ...["js_worker", "js_result", "js_runtime", "crontab", "crontab_result"],
];
const maxFilterChars = 4096;
/** `auditTarget` is the target of entries about changes that callers make. */
export const auditTarget = "audit";
const targets = [...contractTargets, auditTarget, ...dbTargets];
/** `filterNames` are the words that a filter may consist of, for completion. */
export const filterNames: readonly string[] = [
  "off",
  ...levels.map((level) => level.toLowerCase()),
  ...targets,
];

/** `shownTarget` returns the target that readers see: `db` for a database library's own target. */
export function shownTarget(target: string): string {
  const crate = target.split("::", 1)[0] ?? target;
  return dbTargets.includes(crate) ? "db" : target;
}

/**
 * Filter is a parsed log filter in the grammar of `RUST_LOG`: `info`, `db=trace`, `token`, `off`, joined by commas. Only
 * `parseFilter` creates one.
 */
export class Filter {
  /** The detail of targets that no rule names. */
  readonly #base: number;
  /** The most specific rule first. */
  readonly #rules: ReadonlyArray<readonly [target: string, detail: number]>;

  private constructor(
    /** The filter as it was written. */
    readonly text: string,
    base: number,
    rules: ReadonlyArray<readonly [target: string, detail: number]>,
  ) {
    this.#base = base;
    this.#rules = rules;
  }

  /** Reads a filter. Throws InvalidInput with the `column` and the reason of what it cannot read. */
  static parse(text: string): Filter {
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
        throw unreadable(text, at, `\`${item}\` is not a level, a target or \`target=level\``);
      }
      const allowed = level === undefined ? detail.TRACE : parseDetail(level);
      if (allowed === undefined) {
        throw unreadable(text, at, `\`${level}\` is not a level; use off, error, warn, info, debug or trace`);
      }
      for (const target of name === "db" ? dbTargets : [name]) rules.set(target, allowed);
    }
    return new Filter(
      text,
      base,
      [...rules].sort(([a], [b]) => b.length - a.length),
    );
  }

  /** Returns the highest detail that passes for this target: 0 for nothing up to 5 for TRACE. */
  detailFor(target: string): number {
    for (const [name, allowed] of this.#rules) {
      if (target === name || target.startsWith(`${name}::`)) return allowed;
    }
    return this.#base;
  }

  /** Returns targets of the rules under which nothing is ever logged: a misspelt level looks like one. */
  unknownTargets(): string[] {
    return this.#rules
      .map(([target]) => target)
      .filter((target) => !targets.some((known) => target === known || target.startsWith(`${known}::`)));
  }

  /**
   * Tells whether an existing entry passes. An entry of `db` does not say which database library wrote it; it passes if that of any
   * library would.
   */
  passes({ target, level }: Pick<LogEntry, "target" | "level">): boolean {
    const targets = target === "db" ? dbTargets : [target];
    return targets.some((name) => detail[level] <= this.detailFor(name));
  }
}

/** `parseFilter` reads a filter, as `Filter.parse` does. */
export function parseFilter(text: string): Filter {
  return Filter.parse(text);
}

/** `itemsOf` splits a filter at the commas and returns each trimmed item with its position in `text`. */
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
