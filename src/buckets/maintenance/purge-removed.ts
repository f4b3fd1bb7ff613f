import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";

/** `purgeRemoved` deletes the rows of removed files and folders whose time has passed, in many small transactions. Returns how many. */
export async function purgeRemoved(rows: RemovedRows, signal: AbortSignal): Promise<number> {
  const now = await rows.now();
  let purged = 0;
  for await (const heads of rows.current.heads())
    for (const { key: bucketPath } of heads)
      for await (const batch of rows.current.removed(bucketPath)) {
        signal.throwIfAborted();
        const expired = batch.filter(({ value }) => value.until < now);
        const files = expired.filter(({ value }) => !isFolderValue(value.entry));
        purged += await rows.purgeFiles(
          bucketPath,
          files.map(({ key }) => key),
        );
        const folders = expired.filter(({ value }) => isFolderValue(value.entry));
        for (const { key } of folders) {
          signal.throwIfAborted();
          purged += await purgeFolder(rows, bucketPath, key);
        }
      }
  return purged;
}

async function purgeFolder(rows: RemovedRows, bucketPath: string, key: string): Promise<number> {
  // From here on nobody restores the folder, so that nothing else can begin to name it.
  const folder = await rows.beginFolder(bucketPath, key);
  if (folder === undefined) return 0;
  const isShared = await rows.names.isNamedTwice(folder.id);
  return rows.purgeFolder(bucketPath, { key, content: isShared ? undefined : folder });
}

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
  return purgeRemoved(rows, signal);
}
