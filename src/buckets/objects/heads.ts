import type { HeadValue } from "../../db/rows/entry-values.ts";
import type { HeadListener } from "../ports.ts";
import type { KnownRows, LastHead } from "./known-rows.ts";

/** Head is what tells one state of a bucket's files from all others: `root` is another one after the bucket was emptied. */
export type Head = Pick<HeadValue, "version" | "root">;

/** Heads are the versions of all buckets as this process knows them, for answers from memory. */
export interface Heads extends HeadListener {
  /** Whether a bucket is in this state, as far as this process may rely on what it knows. Synchronous. */
  isCurrent(bucketPath: string, head: Head): boolean;
  /** To be called with every head that was read or written by other means than a look: a version never becomes smaller. */
  saw(bucketPath: string, head: HeadValue): void;
  /** Whether the database did not answer when it was last asked. */
  readonly isAway: boolean;
  /** Undefined if nothing is known, or if it is not known which of two trees is the present one. */
  last(bucketPath: string): LastHead | undefined;
  /** The rows that were read, for answers while the database is away. */
  readonly known: KnownRows;
  /** Runs a synchronous read; undefined while the database is away, and where it cannot be read without waiting. */
  readNow<T>(read: () => T): T | undefined;
}
