import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";

/** Folders that one purge removes; the next one continues. */
const maxFolders = 10_000;

interface ExpiredFolder {
  readonly bucketPath: string;
  readonly key: string;
  readonly id: string;
}

/** `purgeRemoved` deletes the rows of removed files and folders whose time has passed, in many small transactions. Returns how many. */
export async function purgeRemoved(rows: RemovedRows, signal: AbortSignal): Promise<number> {
  const now = await rows.now();
  const folders: ExpiredFolder[] = [];
  let purged = 0;
  for await (const heads of rows.current.heads())
    for (const { key: bucketPath } of heads)
      for await (const batch of rows.current.removed(bucketPath)) {
        signal.throwIfAborted();
        const files: string[] = [];
        for (const { key, value } of batch) {
          if (value.until >= now) continue;
          if (!isFolderValue(value.entry)) files.push(key);
          else if (folders.length < maxFolders) folders.push({ bucketPath, key, id: value.entry.id });
        }
        purged += await rows.purgeFiles(bucketPath, files);
      }
  return purged + (await purgeFolders(rows, folders, signal));
}

async function purgeFolders(
  rows: RemovedRows,
  folders: readonly ExpiredFolder[],
  signal: AbortSignal,
): Promise<number> {
  if (folders.length === 0) return 0;
  const shared = await namedTwice(rows, new Set(folders.map(({ id }) => id)), signal);
  let purged = 0;
  for (const { bucketPath, key } of folders) {
    signal.throwIfAborted();
    const folder = await rows.beginFolder(bucketPath, key);
    if (folder === undefined) continue;
    const content = shared.has(folder.id) ? undefined : folder;
    purged += await rows.purgeFolder(bucketPath, { key, content });
  }
  return purged;
}

/** `namedTwice` returns the folders that something else names beside the row of the removed one, so that their content must stay. */
async function namedTwice(
  rows: RemovedRows,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const once = new Set<string>();
  const twice = new Set<string>();
  await rows.readSnapshot(async (names) => {
    for await (const batch of names.all()) {
      signal.throwIfAborted();
      for (const { folder } of batch) {
        if (folder === null || !ids.has(folder)) continue;
        if (once.has(folder)) twice.add(folder);
        once.add(folder);
      }
    }
  });
  return twice;
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
  let deleted = 0;
  // A purge takes a bounded number of folders.
  for (let purged = await purgeRemoved(rows, signal); purged > 0; purged = await purgeRemoved(rows, signal))
    deleted += purged;
  return deleted;
}
