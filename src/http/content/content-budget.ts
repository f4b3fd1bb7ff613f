import type { Clock } from "../../base/clock.ts";
import { uncountedBytes } from "../../base/memory-budget.ts";

/** Content above `uncountedBytes` that requests may bring into memory within the window. */
const maxBytes = 32 * 1024 * 1024;

/**
 * ContentBudget bounds the content of larger files that requests bring into memory, plain or compressed. An answer that its client
 * does not read keeps its content after the cache has dropped it, until the connection times out, and Bun does not report when that
 * is. So content is counted for a window of time, in which the count falls steadily to zero; a file beyond the budget is sent
 * from the disk, which takes next to no memory.
 */
export class ContentBudget {
  #used = 0;
  #usedAt: number;
  readonly #windowMs: number;
  readonly #clock: Clock;

  /** `windowMs` is the time after which a connection without progress is dropped. */
  constructor(windowMs: number, clock: Clock) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#usedAt = clock.monotonic();
  }

  get isSpent(): boolean {
    return this.#level() >= maxBytes;
  }

  /** tryReserve counts content that is to be brought into memory. Returns false, and counts nothing, if the budget is too small. */
  tryReserve(bytes: number): boolean {
    if (bytes <= uncountedBytes) return true;
    if (this.#level() + bytes > maxBytes) return false;
    this.add(bytes);
    return true;
  }

  /** Counts content that is in memory already, even beyond the budget. */
  add(bytes: number): void {
    if (bytes > uncountedBytes) this.#used = this.#level() + bytes;
  }

  #level(): number {
    const now = this.#clock.monotonic();
    this.#used = Math.max(0, this.#used - ((now - this.#usedAt) / this.#windowMs) * maxBytes);
    this.#usedAt = now;
    return this.#used;
  }
}
