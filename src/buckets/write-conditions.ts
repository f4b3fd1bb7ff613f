import type { BucketView, FileStore, ResolvedPath, WriteTransaction } from "./file-store.ts";
import { covers, type Lock, LockedFault, type Locks } from "./metadata/locks.ts";
import { isBelow, splitPath, type TreePath, treeRoot } from "./path.ts";

/**
 * WriteConditions are what a change must satisfy: the locks that the caller holds, and its preconditions (a token that is still valid,
 * If, If-Match, …). They are checked in the turn of the change, so the answer cannot change before the write.
 */
export interface WriteConditions {
  /** Whether the caller submitted the token of this lock and may use it (RFC 4918 §6.4). */
  holdsLock(lock: Lock): boolean;
  /**
   * Throws unless the preconditions hold; what it throws is the answer to the caller. `current` is the path of the change, or the source of a COPY or MOVE,
   * as it is in this turn; everything else about the bucket must be read through `view`.
   */
  assertPreconditions(current: ResolvedPath, view: BucketView): Promise<void>;
}

/** changeInTurn runs `work` on a path in its turn, if the preconditions hold then. */
export function changeInTurn<T>(
  store: FileStore,
  { path, conditions }: { readonly path: TreePath; readonly conditions: WriteConditions },
  work: (transaction: WriteTransaction, target: ResolvedPath) => Promise<T>,
): Promise<T> {
  return store.transact(path, async (transaction, target) => {
    await conditions.assertPreconditions(target, transaction);
    return work(transaction, target);
  });
}

/** AffectedPath is what a change does to a path, as far as locks protect it. */
export interface AffectedPath {
  readonly path: TreePath;
  /** Whether everything below it is affected too. */
  readonly recursive: boolean;
  /** Whether the folder above gains or loses a name. */
  readonly changesParent: boolean;
}

/**
 * assertUnlocked throws LockedFault if a lock that the caller does not hold protects an affected path. Of several shared locks on one resource the
 * caller has to hold one.
 */
export async function assertUnlocked(
  locks: Locks,
  conditions: WriteConditions,
  ...affected: readonly AffectedPath[]
): Promise<void> {
  for (const { path, recursive, changesParent } of affected) {
    const found = await locks.around(path, { descendants: recursive });
    const resources = [path];
    if (changesParent && path !== treeRoot) resources.push(splitPath(path).folder);
    for (const locked of new Set(found.map((lock) => lock.path)))
      if (isBelow(locked, path)) resources.push(locked);
    for (const resource of resources) {
      const [first, ...more] = found.filter((lock) => covers(lock, resource));
      if (first !== undefined && ![first, ...more].some((lock) => conditions.holdsLock(lock)))
        throw new LockedFault([first, ...more]);
    }
  }
}
