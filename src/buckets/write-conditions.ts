import type { ResolvedPath } from "./file-reader.ts";
import type { BucketView } from "./file-store.ts";
import type { LockHolder } from "./metadata/locks.ts";

/**
 * WriteConditions are what a change must satisfy: the locks that the caller holds, and its preconditions (a token that is still valid,
 * If, If-Match, …). They are checked in the turn of the change, so the answer cannot change before the write.
 */
export interface WriteConditions extends LockHolder {
  /**
   * Throws unless the preconditions hold; what it throws is the answer to the caller. `current` is the path of the change, or the
   * source of a COPY or MOVE, as it is in this turn; everything else about the bucket must be read through `view`.
   */
  assertPreconditions(current: ResolvedPath, view: BucketView): Promise<void>;
}
