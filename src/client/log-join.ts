import type { LogEntry } from "./methods.ts";

/** How many of the last reported entries are remembered: more than a server keeps in memory by default. */
const maxRemembered = 20_000;

/** MemoryNews is what a read of the log memory adds. */
export interface MemoryNews {
  /** Entries that were not reported yet, oldest first. */
  readonly fresh: readonly LogEntry[];
  /** Whether they follow the reported ones without a gap. */
  readonly whole: boolean;
}

/** LogJoin joins the log memory of a server with its live entries, so that an entry that arrives both ways is reported once. */
export class LogJoin {
  /** How often each entry was reported, oldest first. */
  #reported = new Map<string, number>();
  /** Entries reported from memory that the live stream may bring again. */
  #ahead = new Map<string, number>();
  #aheadUntil = 0;
  /** The time of the entry that was reported last. */
  last: string | undefined;

  /** Takes the memory. It must be read after the stream began, so that no entry is missed between the two. */
  mergeMemory(entries: readonly LogEntry[]): MemoryNews {
    const keys = entries.map(keyOf);
    const known = this.#lastReported(keys);
    const whole = known !== -1 && this.#keepsAll(keys);
    const fresh = entries.slice(known + 1);
    this.#ahead = new Map();
    this.#aheadUntil = 0;
    // The stream may already have brought some of these, which are still unread.
    for (const [at, entry] of fresh.entries()) {
      const key = keys[known + 1 + at] ?? "";
      count(this.#ahead, key);
      this.#aheadUntil = Math.max(this.#aheadUntil, timeOf(entry));
      this.#remember(entry, key);
    }
    return { fresh, whole };
  }

  /** Takes an entry of the stream; false if it was reported already. */
  mergeLive(entry: LogEntry): boolean {
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

  /** The index of the newest reported entry, or -1. Equal entries are distinguished by how many there are. */
  #lastReported(keys: readonly string[]): number {
    const seen = new Map<string, number>();
    let last = -1;
    for (const [at, key] of keys.entries()) if (count(seen, key) <= (this.#reported.get(key) ?? 0)) last = at;
    return last;
  }

  /** Whether the memory has every reported entry since its oldest. One with a filter of its own may lack some, and then others too. */
  #keepsAll(keys: readonly string[]): boolean {
    const remembered = new Set(keys);
    let reached = false;
    for (const key of this.#reported.keys()) {
      if (remembered.has(key)) reached = true;
      else if (reached) return false;
    }
    return true;
  }

  #remember(entry: LogEntry, key: string): void {
    this.last = entry.timestamp;
    count(this.#reported, key);
    if (this.#reported.size > maxRemembered * 2)
      this.#reported = new Map([...this.#reported].slice(-maxRemembered));
  }
}

function count(into: Map<string, number>, key: string): number {
  const times = (into.get(key) ?? 0) + 1;
  into.set(key, times);
  return times;
}

/** A short key, because many are remembered and entries can be long: the time, and a hash for entries of one millisecond. */
function keyOf(entry: LogEntry): string {
  const { timestamp, level, target, message, fields, spans } = entry;
  // A database may change the order of members.
  const named = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([level, target, message, named, spans.map((span) => [span.name, span.fields])]);
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x85ebca6b);
    high = Math.imul(high ^ unit, 0xc2b2ae35);
    high ^= low >>> 15;
  }
  return `${timestamp} ${text.length} ${low >>> 0} ${high >>> 0}`;
}

function timeOf({ timestamp }: LogEntry): number {
  return Date.parse(timestamp);
}
