import type { Database } from "../../../db/database.ts";
import type { Freshness, Stamp } from "../../../db/freshness.ts";
import type { HeadValue } from "../../../db/rows/entry-values.ts";
import type { HeadListener } from "../../ports.ts";
import { KnownRows, type LastHead } from "./known-rows.ts";

/** Head is what tells one state of a bucket's files from all others: `root` is another one after the bucket was emptied. */
export type Head = Pick<HeadValue, "version" | "root">;

/** KnownHead is the head of a bucket as this process knows it, with the stamp of the read that last found it. */
interface KnownHead extends Stamp {
  /** Undefined while two roots were seen and the present one is unknown: then no answer counts as current. */
  readonly version: number | undefined;
  readonly root: string;
  /** When something newer than that read was seen: a read that began before may not have found it. */
  readonly seenAt: number;
}

const never = Number.NEGATIVE_INFINITY;

/**
 * Heads are the versions of all buckets as this process knows them, for answers from memory. They are read with the records of buckets, or
 * synchronously where the database can do that. Of two reads, the one that began later counts, whichever ended first. Changes by this
 * process are known at once.
 */
export class Heads implements HeadListener {
  readonly freshness: Freshness;
  /** The rows that were read, for answers while the database is away. */
  readonly known: KnownRows;
  readonly #rows: Pick<Database["heads"], "readSync">;
  readonly #heads = new Map<string, KnownHead>();

  constructor(rows: Pick<Database["heads"], "readSync">, freshness: Freshness) {
    this.#rows = rows;
    this.freshness = freshness;
    this.known = new KnownRows(freshness);
  }

  /** isCurrent returns whether a bucket is in this state, as far as this process may rely on what it knows. Synchronous. */
  isCurrent(bucketPath: string, { version, root }: Head): boolean {
    const known = this.#heads.get(bucketPath);
    const isCurrent = known?.version !== undefined && this.freshness.isCurrent(known);
    const present = isCurrent ? known : this.#readSync(bucketPath);
    return present?.version === version && present.root === root;
  }

  /** last returns the last known head; undefined if nothing is known, or if it is not known which of two trees is the present one. */
  last(bucketPath: string): LastHead | undefined {
    const known = this.#heads.get(bucketPath);
    if (known?.version === undefined) return undefined;
    return { version: known.version, root: known.root, trueAt: this.freshness.trueAt(known) };
  }

  /** To be called with every head that was read or written by other means than `headRead`: a version never becomes smaller. */
  saw(bucketPath: string, head: HeadValue): void {
    const { version, root } = head;
    this.known.saw(bucketPath, head);
    const seenAt = this.freshness.now;
    const known = this.#heads.get(bucketPath);
    if (known === undefined) {
      this.#heads.set(bucketPath, { version, root, readAt: never, epoch: undefined, seenAt });
      return;
    }
    if (known.version === undefined) return;
    const isSame = known.root === root;
    if (isSame && known.version >= version) return;
    this.#heads.set(bucketPath, { ...known, version: isSame ? version : undefined, seenAt });
  }

  headRead(bucketPath: string, head: Head | undefined, begun: Stamp): void {
    const known = this.#heads.get(bucketPath);
    if (known !== undefined && known.readAt > begun.readAt) return;
    if (known !== undefined && known.seenAt >= begun.readAt) {
      const isSame = head?.root === known.root && known.version !== undefined;
      const version = isSame ? Math.max(known.version, head.version) : undefined;
      this.#heads.set(bucketPath, { ...known, ...begun, version });
    } else if (head === undefined) this.#heads.delete(bucketPath);
    else this.#heads.set(bucketPath, { version: head.version, root: head.root, ...begun, seenAt: never });
  }

  /** Nothing newer can have been seen than what is read without waiting. */
  #readSync(bucketPath: string): KnownHead | undefined {
    const begun = this.freshness.stamp();
    const head = this.freshness.readSync(() => this.#rows.readSync(bucketPath));
    if (head === undefined) return undefined;
    const known = { ...head, ...begun, seenAt: never };
    this.#heads.set(bucketPath, known);
    return known;
  }
}
