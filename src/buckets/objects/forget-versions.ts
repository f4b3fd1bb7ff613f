import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import { purgeRemoved } from "./purge-removed.ts";

/**
 * `forgetVersions` deletes the rows of everything but the present files of buckets that have a record: versions, and files of deleted
 * buckets. It is for a store that was filled from plain files: such rows are left from an earlier object store, and name
 * blobs that only that one had. Returns how many rows it deleted.
 */
export async function forgetVersions(
  rows: RemovedRows,
  { recorded, signal }: { readonly recorded: ReadonlySet<string>; readonly signal: AbortSignal },
): Promise<number> {
  const paths: string[] = [];
  for await (const heads of rows.current.heads()) paths.push(...heads.map(({ key }) => key));
  for (const path of paths) {
    signal.throwIfAborted();
    if (!recorded.has(path)) await rows.removeAll(path);
    await rows.expireAll(path);
  }
  let deleted = 0;
  // A purge takes a bounded number of folders.
  for (let purged = await purgeRemoved(rows, signal); purged > 0; purged = await purgeRemoved(rows, signal))
    deleted += purged;
  return deleted;
}
