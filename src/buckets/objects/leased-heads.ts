import type { Clock } from "../../base/clock.ts";
import type { HeadValue } from "../../db/rows/entry-values.ts";
import { leaseMs } from "../bucket-cache.ts";
import type { Head, Heads } from "./heads.ts";
import { KnownRows, type LastHead } from "./known-rows.ts";

/** KnownHead is the head of a bucket as this process knows it. Times are of a clock that nobody sets. */
interface KnownHead {
  /** Undefined if two roots were seen and it is not known which one is the present: that is no state of the bucket. */
  version: number | undefined;
  readonly root: string;
  /** When the look began that last found it. */
  readAt: number;
  /** When something newer than that look was seen: a look that began before may not have found it. */
  seenAt: number;
}

const never = Number.NEGATIVE_INFINITY;

/**
 * LeasedHeads are for a database that has to be asked. The looks of `BucketCache` find the heads, and what a look found is valid
 * until a second after it began: then a change by another node is seen at the latest. Of two looks, the one that began later
 * counts, whichever ended first. Changes by this process are known at once.
 */
export class LeasedHeads implements Heads {
  readonly known: KnownRows;
  readonly #staleMs: number;
  readonly #clock: Clock;
  readonly #heads = new Map<string, KnownHead>();
  #isAway = false;

  constructor(staleMs: number, clock: Clock) {
    this.#staleMs = staleMs;
    this.#clock = clock;
    this.known = new KnownRows(staleMs, clock);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  last(bucketPath: string): LastHead | undefined {
    const known = this.#heads.get(bucketPath);
    return known?.version === undefined ? undefined : known;
  }

  isCurrent(bucketPath: string, { version, root }: Head): boolean {
    const known = this.#heads.get(bucketPath);
    if (known?.version !== version || known.root !== root) return false;
    const ageMs = this.#clock.monotonic() - known.readAt;
    return ageMs < leaseMs || (this.#isAway && ageMs < this.#staleMs);
  }

  saw(bucketPath: string, head: HeadValue): void {
    const { version, root } = head;
    this.known.saw(bucketPath, head);
    const known = this.#heads.get(bucketPath);
    if (known === undefined) {
      this.#heads.set(bucketPath, { version, root, readAt: never, seenAt: this.#clock.monotonic() });
      return;
    }
    if (known.version === undefined) return;
    const isSame = known.root === root;
    if (isSame && known.version >= version) return;
    known.version = isSame ? version : undefined;
    known.seenAt = this.#clock.monotonic();
  }

  looked(bucketPath: string, head: Head | undefined, begunAt: number): void {
    this.#isAway = false;
    const known = this.#heads.get(bucketPath);
    if (known !== undefined && known.readAt > begunAt) return;
    if (known !== undefined && known.seenAt >= begunAt) {
      known.readAt = begunAt;
      if (known.root !== head?.root) known.version = undefined;
      else if (known.version !== undefined) known.version = Math.max(known.version, head.version);
    } else if (head === undefined) this.#heads.delete(bucketPath);
    else {
      const { version, root } = head;
      this.#heads.set(bucketPath, { version, root, readAt: begunAt, seenAt: never });
    }
  }

  databaseIsAway(): void {
    this.#isAway = true;
  }

  readNow(): undefined {
    return undefined;
  }
}
