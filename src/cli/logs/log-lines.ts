import type { LogEntry } from "../../client/index.ts";
import { detail } from "../../log/entry.ts";
import type { Filter } from "../../log/filter.ts";

/** How many of the entries told last are remembered: more than a server keeps unless it was told to keep very many. */
const remembered = 20_000;

export interface Kept {
  /** What was not told yet, oldest first. */
  readonly fresh: readonly LogEntry[];
  /** Whether entries may be missing between what was told and these. */
  readonly gap: boolean;
}

/** Joins what a server keeps in memory with what it sends, so that an entry that comes both ways is told once. */
export class LogJoin {
  #told = new Set<string>();
  /** Told from memory; the stream may bring them again. */
  #ahead = new Map<string, number>();
  #aheadUntil = 0;
  last: string | undefined;

  /** The memory, read after the stream began: nothing can fall between the two. */
  takeKept(entries: readonly LogEntry[]): Kept {
    const keys = entries.map(keyOf);
    const known = keys.findLastIndex((key) => this.#told.has(key));
    const gap = this.last !== undefined && known === -1;
    const fresh = entries.slice(known + 1);
    this.#ahead = new Map();
    // All of them: what the stream brought and nobody has told yet may be here as well.
    for (const key of keys.slice(known + 1)) this.#ahead.set(key, (this.#ahead.get(key) ?? 0) + 1);
    this.#aheadUntil = Math.max(0, ...entries.slice(-1).map(timeOf));
    for (const entry of fresh) this.#remember(entry);
    return { fresh, gap };
  }

  /** Whether an entry of the stream is news. */
  takeSent(entry: LogEntry): boolean {
    const key = keyOf(entry);
    const count = this.#ahead.get(key) ?? 0;
    if (count > 0) {
      this.#ahead.set(key, count - 1);
      return false;
    }
    if (this.#ahead.size > 0 && timeOf(entry) > this.#aheadUntil) this.#ahead.clear();
    this.#remember(entry);
    return true;
  }

  #remember(entry: LogEntry): void {
    this.last = entry.timestamp;
    this.#told.add(keyOf(entry));
    if (this.#told.size > remembered * 2) this.#told = new Set([...this.#told].slice(-remembered));
  }
}

/** Whether the filter lets an entry through that was written elsewhere. */
export function passes(filter: Filter, { target, level }: LogEntry): boolean {
  // Entries of the database libraries carry one name, under which filters are kept for each of them.
  const targets = target === "db" ? ["db", "sqlx", "sea_orm", "sea_orm_migration"] : [target];
  return targets.some((name) => detail[level] <= filter.detailFor(name));
}

function keyOf(entry: LogEntry): string {
  return JSON.stringify(entry);
}

function timeOf({ timestamp }: LogEntry): number {
  return Date.parse(timestamp);
}
