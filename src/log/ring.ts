import type { LogEntry } from "./entry.ts";
import type { Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** The last entries, in memory. When it is full the oldest goes. */
export class LogRing implements Sink {
  #slots: LogEntry[] = [];
  /** Where the oldest entry stands, once the ring is full. */
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

  /** Keeps the newest that fit. */
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

  /** Oldest first. */
  entries(): LogEntry[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }
}
