import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** LogRing keeps the newest entries in memory. When it is full, each new entry replaces the oldest. */
export class LogRing implements Sink {
  #slots: LogEntry[] = [];
  /** The index of the oldest entry, once the ring is full. */
  #oldest = 0;
  #capacity = 0;
  #filter: Filter;

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
  }

  write(entry: LogEntry): void {
    if (this.#capacity === 0) return;
    if (this.#slots.length < this.#capacity) {
      this.#slots.push(entry);
    } else {
      this.#slots[this.#oldest] = entry;
      this.#oldest = (this.#oldest + 1) % this.#capacity;
    }
  }

  /** Returns the entries, the oldest first. */
  entries(): LogEntry[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }
}
