import type { LogEntry } from "./methods.ts";

/** How many of the entries told last are remembered: more than a server keeps unless it was told to keep very many. */
const remembered = 20_000;

export interface Kept {
  /** What was not told yet, oldest first. */
  readonly fresh: readonly LogEntry[];
  /** Whether these follow what was told with nothing missing between. */
  readonly whole: boolean;
}

/** Joins what a server keeps in memory with what it sends, so that an entry that comes both ways is told once. */
export class LogJoin {
  /** How often each entry was told, oldest first. */
  #told = new Map<string, number>();
  /** Told from memory; the stream may bring them again. */
  #ahead = new Map<string, number>();
  #aheadUntil = 0;
  /** The time of the entry told last. */
  last: string | undefined;

  /** The memory, read after the stream began: nothing can fall between the two. */
  takeKept(entries: readonly LogEntry[]): Kept {
    const keys = entries.map(keyOf);
    const known = this.#lastTold(keys);
    const whole = known !== -1 && this.#keepsAll(keys);
    const fresh = entries.slice(known + 1);
    this.#ahead = new Map();
    this.#aheadUntil = 0;
    // What the stream brought meanwhile, and nobody has told yet, may be here as well.
    for (const [at, entry] of fresh.entries()) {
      const key = keys[known + 1 + at] ?? "";
      count(this.#ahead, key);
      this.#aheadUntil = Math.max(this.#aheadUntil, timeOf(entry));
      this.#remember(entry, key);
    }
    return { fresh, whole };
  }

  /** Whether an entry of the stream is news. */
  takeSent(entry: LogEntry): boolean {
    const key = keyOf(entry);
    const ahead = this.#ahead.get(key) ?? 0;
    if (ahead > 0) {
      this.#ahead.set(key, ahead - 1);
      return false;
    }
    if (this.#ahead.size > 0 && timeOf(entry) > this.#aheadUntil) this.#ahead.clear();
    this.#remember(entry, key);
    return true;
  }

  /** Where the newest of what was told stands. Entries that are alike are told apart by their number. */
  #lastTold(keys: readonly string[]): number {
    const seen = new Map<string, number>();
    let last = -1;
    for (const [at, key] of keys.entries()) if (count(seen, key) <= (this.#told.get(key) ?? 0)) last = at;
    return last;
  }

  /** A memory with a filter of its own may lack what the stream brought; then nobody knows what else it lacks. */
  #keepsAll(keys: readonly string[]): boolean {
    const kept = new Set(keys);
    let reached = false;
    for (const key of this.#told.keys()) {
      if (kept.has(key)) reached = true;
      else if (reached) return false;
    }
    return true;
  }

  #remember(entry: LogEntry, key: string): void {
    this.last = entry.timestamp;
    count(this.#told, key);
    if (this.#told.size > remembered * 2) this.#told = new Map([...this.#told].slice(-remembered));
  }
}

function count(into: Map<string, number>, key: string): number {
  const times = (into.get(key) ?? 0) + 1;
  into.set(key, times);
  return times;
}

/** Short, because many are remembered and entries can be long: the time, and a hash for those of one millisecond. */
function keyOf(entry: LogEntry): string {
  const text = JSON.stringify(entry);
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x85ebca6b);
    high = Math.imul(high ^ unit, 0xc2b2ae35);
    high ^= low >>> 15;
  }
  return `${entry.timestamp} ${text.length} ${low >>> 0} ${high >>> 0}`;
}

function timeOf({ timestamp }: LogEntry): number {
  return Date.parse(timestamp);
}
