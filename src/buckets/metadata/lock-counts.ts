import { SharedRuns } from "../../base/concurrency.ts";
import { Fault } from "../../base/fault.ts";

/** TooManyLocksFault is thrown at one of the limits below. WebDAV answers 507. */
export class TooManyLocksFault extends Fault {
  constructor(detail: string) {
    super("Other", detail);
  }
}

/** Locks of one bucket. */
const maxLocksPerBucket = 10_000;
/** Locks that one access token may hold in a bucket. Clients hold one per open file. */
const maxLocksPerToken = 1000;
/** Time between two counts. */
const intervalMs = 60_000;
/** The same while a limit is reached: a count reads every lock of the bucket. */
const urgentIntervalMs = 1000;

/** LockCounts are the numbers of locks of one bucket: what the last count found, plus the locks that were taken since. */
export class LockCounts {
  #countedAt = Number.NEGATIVE_INFINITY;
  #total = 0;
  #byHolder = new Map<string, number>();
  readonly #counts = new SharedRuns();

  /** assertBelowLimits throws TooManyLocksFault if the bucket, or this holder, has as many locks as allowed. */
  assertBelowLimits(holder: string): void {
    if (this.#isFullFor(holder))
      throw new TooManyLocksFault(
        `a token may hold ${maxLocksPerToken} locks in a bucket, and all tokens together ${maxLocksPerBucket}; release some, or wait until they expire`,
      );
  }

  add(holder: string): void {
    this.#total += 1;
    this.#byHolder.set(holder, (this.#byHolder.get(holder) ?? 0) + 1);
  }

  /** isDue returns whether the locks should be counted again before this holder takes one. */
  isDue(holder: string): boolean {
    const age = performance.now() - this.#countedAt;
    return age > (this.#isFullFor(holder) ? urgentIntervalMs : intervalMs);
  }

  /** refresh counts again, once for everyone who needs it at the same time. `count` returns the holder of each lock. */
  refresh(count: () => Promise<readonly string[]>): Promise<void> {
    return this.#counts.join("", () => this.#count(count));
  }

  async #count(count: () => Promise<readonly string[]>): Promise<void> {
    const holders = await count();
    this.#total = holders.length;
    this.#byHolder = new Map();
    for (const holder of holders) this.#byHolder.set(holder, (this.#byHolder.get(holder) ?? 0) + 1);
    this.#countedAt = performance.now();
  }

  #isFullFor(holder: string): boolean {
    return this.#total >= maxLocksPerBucket || (this.#byHolder.get(holder) ?? 0) >= maxLocksPerToken;
  }
}
