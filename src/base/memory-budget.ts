import { totalmem } from "node:os";

/** Bytes that every connection may hold without being counted: an ordinary call and its answer. */
export const uncountedBytes = 64 * 1024;

/** The memory that this process may use: the limit of its cgroup, else what the machine has. */
export function usableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** What is given back at once and is worth a look at the memory of the process. */
const largeBytes = 256 * 1024;

/**
 * One budget for the memory that clients make the server hold: requests that are read, calls that wait, answers that are not yet
 * sent. Callers that have proven nothing share half of it, and those of one address a quarter, so that a crowd of strangers leaves
 * room for everybody else. Who finds it used up is told to try again.
 */
export class MemoryBudget {
  readonly #limit: () => number;
  #held = 0;
  #heldByStrangers = 0;
  readonly #strangers = new Map<string, number>();
  #isCollecting = false;
  /** Of the process, when garbage was last collected here. */
  #residentAfter = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** The account of one request or connection. `address` groups strangers. */
  open(address: string): MemoryAccount {
    return new MemoryAccount(this, address);
  }

  /** Changes what is held by `bytes`. A release always succeeds. */
  change(bytes: number, stranger: string | undefined): boolean {
    if (bytes > 0 && !this.#fits(bytes, stranger)) return false;
    this.#held += bytes;
    if (stranger !== undefined) this.#changeStranger(bytes, stranger);
    if (bytes < -largeBytes) this.#collectGarbage();
    return true;
  }

  /** What a stranger holds is held by a proven caller from now on. */
  prove(bytes: number, stranger: string): void {
    this.#changeStranger(-bytes, stranger);
  }

  /**
   * Garbage is memory until it is collected, and with a small limit the process could be killed for it: once it takes twice the
   * budget, large requests and answers are collected soon after they are done.
   */
  #collectGarbage(): void {
    const [limit, resident] = [this.#limit(), process.memoryUsage.rss()];
    if (this.#isCollecting || resident < 2 * limit || resident < this.#residentAfter + limit / 4) return;
    this.#isCollecting = true;
    // In the next turn, when nothing on the stack holds on to it any more.
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

/** What one request or connection holds of the budget. */
export class MemoryAccount implements Disposable {
  readonly #budget: MemoryBudget;
  readonly #address: string;
  /** Counted in the budget. */
  #counted = 0;
  #proven = false;

  constructor(budget: MemoryBudget, address: string) {
    this.#budget = budget;
    this.#address = address;
  }

  /** Holds `bytes` in all from now on; false, and no change, when the budget has no room for more. */
  hold(bytes: number): boolean {
    const counted = Math.max(0, bytes - uncountedBytes);
    if (counted === this.#counted) return true;
    if (!this.#budget.change(counted - this.#counted, this.#proven ? undefined : this.#address)) return false;
    this.#counted = counted;
    return true;
  }

  /** From now on the caller is no stranger. */
  prove(): void {
    if (this.#proven) return;
    this.#proven = true;
    this.#budget.prove(this.#counted, this.#address);
  }

  [Symbol.dispose](): void {
    this.hold(0);
  }
}
