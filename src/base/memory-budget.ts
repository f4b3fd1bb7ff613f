import { totalmem } from "node:os";
import type { Clock } from "./clock.ts";

/** `uncountedBytes` is how much each connection may hold without being counted: an ordinary call and its answer. */
export const uncountedBytes = 64 * 1024;

/** `usableMemory` returns the memory in bytes that this process may use: the limit of its cgroup, or that of the machine. */
export function usableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Releases above this size may start a garbage collection. */
const largeBytes = 256 * 1024;

/**
 * MemoryBudget bounds the memory that clients make the server hold: requests being read, calls that wait, answers not yet sent.
 * Callers without proven credentials ("strangers") share half of it, and those of one address a quarter, so that many strangers
 * leave room for everybody else. A caller that exceeds the budget is answered with `Busy`.
 */
export class MemoryBudget {
  readonly #limit: () => number;
  #held = 0;
  #heldByStrangers = 0;
  readonly #strangers = new Map<string, number>();
  #isCollecting = false;
  /** Resident memory of the process after the last collection started here, in bytes. */
  #residentAfter = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** Opens the account of one request or connection. Strangers with the same `address` share a quarter of the budget. */
  open(address: string): MemoryAccount {
    return new MemoryAccount(this, address);
  }

  /**
   * Changes the held bytes by `bytes`, which may be negative. Returns false, and changes nothing, if the budget would be exceeded;
   * a release always succeeds.
   */
  change(bytes: number, stranger: string | undefined): boolean {
    // One NaN would stay in the sums for good, and pass or fail every later comparison.
    if (!Number.isSafeInteger(bytes)) throw new RangeError(`${bytes} is not a number of bytes`);
    if (bytes > 0 && !this.#fits(bytes, stranger)) return false;
    this.#held += bytes;
    if (stranger !== undefined) this.#changeStranger(bytes, stranger);
    if (bytes < -largeBytes) this.#collectGarbage();
    return true;
  }

  /** Moves `bytes` from a stranger to a caller with proven credentials. */
  prove(bytes: number, stranger: string): void {
    this.#changeStranger(-bytes, stranger);
  }

  /**
   * Garbage occupies memory until it is collected, and under a small limit the process could be killed for it. So once the process
   * takes twice the budget, garbage is collected soon after large requests and answers are done.
   */
  #collectGarbage(): void {
    const [limit, resident] = [this.#limit(), process.memoryUsage.rss()];
    if (this.#isCollecting || resident < 2 * limit || resident < this.#residentAfter + limit / 4) return;
    this.#isCollecting = true;
    // In the next turn of the event loop, when no variable on the stack refers to it any more.
    setImmediate(() => {
      Bun.gc(true);
      this.#residentAfter = process.memoryUsage.rss();
      this.#isCollecting = false;
    });
  }

  #fits(bytes: number, stranger: string | undefined): boolean {
    const limit = this.#limit();
    if (this.#held + bytes > limit) return false;
    if (stranger === undefined) return true;
    return (
      this.#heldByStrangers + bytes <= limit / 2 && (this.#strangers.get(stranger) ?? 0) + bytes <= limit / 4
    );
  }

  #changeStranger(bytes: number, stranger: string): void {
    this.#heldByStrangers += bytes;
    const held = (this.#strangers.get(stranger) ?? 0) + bytes;
    if (held > 0) this.#strangers.set(stranger, held);
    else this.#strangers.delete(stranger);
  }
}

/** MemoryAccount is the share of the budget that one request or connection holds. Disposing it releases everything. */
export class MemoryAccount implements Disposable {
  readonly #budget: MemoryBudget;
  readonly #address: string;
  /** Bytes that are counted in the budget. */
  #counted = 0;
  #proven = false;

  constructor(budget: MemoryBudget, address: string) {
    this.#budget = budget;
    this.#address = address;
  }

  /** Sets the held bytes to `bytes` in all. Returns false, and changes nothing, if the budget would be exceeded. */
  hold(bytes: number): boolean {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`${bytes} is not a number of bytes`);
    const counted = Math.max(0, bytes - uncountedBytes);
    if (counted === this.#counted) return true;
    if (!this.#budget.change(counted - this.#counted, this.#proven ? undefined : this.#address)) return false;
    this.#counted = counted;
    return true;
  }

  /** Marks the caller's credentials as proven: it is not a stranger any more. */
  prove(): void {
    if (this.#proven) return;
    this.#proven = true;
    this.#budget.prove(this.#counted, this.#address);
  }

  [Symbol.dispose](): void {
    this.hold(0);
  }
}

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
