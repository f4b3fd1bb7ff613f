import { BulkRuns } from "./bulk-runs.ts";
import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** `auditCapacity` is how many audit entries are kept in memory, whatever `memory_log_capacity` is. */
export const auditCapacity = 1000;

/**
 * LogRing keeps the newest entries in memory. When it is full, each new entry replaces the oldest. Of one client's changes of
 * many files in a row it keeps the first and one that counts the others, so that they do not replace everything else.
 */
export class LogRing implements Sink {
  readonly takesRelayed = true;
  #slots: LogEntry[] = [];
  /** The index of the oldest entry, once the ring is full. */
  #oldest = 0;
  #capacity = 0;
  #filter: Filter;
  readonly #runs = new BulkRuns();

  constructor(capacity: number, filter: Filter) {
    this.#filter = filter;
    this.resize(capacity, filter);
  }

  get filter(): Filter {
    return this.#filter;
  }

  /** Changes capacity and filter, and keeps the newest entries that fit. */
  resize(capacity: number, filter: Filter): void {
    this.#slots = capacity === 0 ? [] : this.entries().slice(-capacity);
    this.#oldest = 0;
    this.#capacity = capacity;
    this.#filter = filter;
    this.#runs.clear();
  }

  write(entry: LogEntry): void {
    if (this.#capacity === 0) return;
    const run = this.#runs.add(entry);
    if (run === undefined) this.#append(entry);
    else if (run.slot !== undefined && this.#slots[run.slot] === run.held) this.#slots[run.slot] = run.rest;
    // The first that is counted, or the one before was dropped meanwhile.
    else run.slot = this.#append(run.rest);
    if (run !== undefined) run.held = run.rest;
  }

  /** Returns the entries, the oldest first. */
  entries(): LogEntry[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }

  /** Returns the slot of the entry. */
  #append(entry: LogEntry): number {
    if (this.#slots.length < this.#capacity) return this.#slots.push(entry) - 1;
    const slot = this.#oldest;
    this.#slots[slot] = entry;
    this.#oldest = (slot + 1) % this.#capacity;
    return slot;
  }
}
