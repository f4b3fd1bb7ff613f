import { Fault } from "../../base/fault.ts";
import { type BlobInfo, type BlobStore, blobKeyTimeMs } from "../../blobs/blob-store.ts";
import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";

/** `purgeRemoved` deletes the rows of removed files and folders whose time has passed, in many small transactions. Returns how many. */
async function purgeRemoved(rows: RemovedRows, signal: AbortSignal): Promise<number> {
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

/** Unnamed blobs that are held in memory at once, about 10 MB. Each such part of the store is judged and deleted by itself. */
const maxHeldOrphans = 100_000;
const blobsPerDelete = 1000;
/** A sweep that would delete more blobs than this, and more than half of those that it listed, deletes none. */
const maxUnquestionedBlobs = 1000;

interface SweepOptions {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  /** Ends the sweep between two steps. Whatever it has done by then is complete. */
  readonly signal: AbortSignal;
  /** The number of unnamed blobs that are held in memory at once; for tests. */
  readonly maxHeld?: number;
  /** The age of blobs is that at this time, in place of the database's clock; for tests. */
  readonly nowMs?: number;
  /** Blobs that nothing names are not deleted before this time, in Unix milliseconds of the database's clock. */
  readonly keepOrphansUntil?: number;
  /** Whether any number of blobs may be deleted. Otherwise a store that seems to belong to another database is left alone. */
  readonly isConfirmed?: boolean;
}

/** SweepResult counts what a sweep has deleted. */
interface SweepResult {
  /** Rows of removed files and folders whose time has passed, and of what those folders contained. */
  readonly purgedRows: number;
  readonly deletedBlobs: number;
  readonly deletedBytes: number;
  /** Uploads that were never finished. */
  readonly unfinished: number;
}

/**
 * `sweep` deletes what nothing names any more: rows of removed files whose time has passed, and blobs. It may run beside any number of
 * writers, and may be killed at any moment.
 *
 * No blob that is named, or ever will be, is deleted. While a row cannot be read, nothing is. Blobs are listed first, and one statement tells afterwards which of them are
 * named. A blob gets its first name from the commit of its upload, which `refuseLate` refuses long before the blob is old enough to
 * be deleted. Every later name is taken from a row that names the blob already (a copy, a move, a restored version), in the same
 * transaction: so if the state that the statement read had no name for an old blob, none can come.
 */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { rows, blobs, signal } = options;
  await rows.names.refuseDamaged();
  const purgedRows = await purgeRemoved(rows, signal);
  const deleted = await deleteOrphans(options);
  signal.throwIfAborted();
  return { purgedRows, ...deleted, unfinished: await blobs.clearUnfinished() };
}

/** `deleteOrphans` deletes the blobs that nothing names, as a part of `sweep`. */
export async function deleteOrphans(
  options: SweepOptions,
): Promise<Pick<SweepResult, "deletedBlobs" | "deletedBytes">> {
  const { rows, blobs, signal, maxHeld = maxHeldOrphans, keepOrphansUntil = 0 } = options;
  const now = options.nowMs ?? (await rows.now());
  if (now < keepOrphansUntil) return { deletedBlobs: 0, deletedBytes: 0 };
  const total = { deletedBlobs: 0, deletedBytes: 0 };
  let orphans: BlobInfo[] = [];
  let listed = 0;
  const deleteHeld = async () => {
    if (!options.isConfirmed) refuseDoubtful(orphans.length, listed);
    for (let at = 0; at < orphans.length; at += blobsPerDelete) {
      signal.throwIfAborted();
      const some = orphans.slice(at, at + blobsPerDelete);
      await blobs.delete(some.map(({ key }) => key));
      total.deletedBlobs += some.length;
      for (const { size } of some) total.deletedBytes += size;
    }
    orphans = [];
    listed = 0;
  };
  for await (const batch of blobs.list()) {
    signal.throwIfAborted();
    const old = batch.filter((blob) => mayBeOrphan(blob, now));
    if (old.length === 0) continue;
    const named = await rows.names.namedAmong(old.map(({ key }) => key));
    listed += old.length;
    orphans.push(...old.filter(({ key }) => !named.has(key)));
    if (orphans.length >= maxHeld) await deleteHeld();
  }
  await deleteHeld();
  return total;
}

/** `refuseDoubtful` throws if most blobs have no name: then the database is more likely to be wrong than the store. */
function refuseDoubtful(orphans: number, count: number): void {
  if (orphans <= maxUnquestionedBlobs || orphans * 2 <= count) return;
  throw new Fault(
    "Other",
    `${orphans} of ${count} blobs in the store are unreferenced, so the store or the database may be the wrong one; nothing was deleted. Check [files] url and database_url; if both are right, run \`node-server check --files --repair\``,
    { orphans, blobs: count },
  );
}

const hourMs = 3600 * 1000;
/** A blob that has no name is deleted once it is this old. */
const minOrphanAgeMs = 24 * hourMs;
/** A blob gets its first name before it is this old, or never. The rest is left to the transaction for its COMMIT. */
const maxUnnamedAgeMs = 20 * hourMs;

/**
 * `mayBeOrphan` returns whether a blob that has no name can get none any more, by the clock of the store and by the time in its key.
 * `nowMs` is the database's clock, by which `refuseLate` judges too: so no wrong clock of a node can bring the two together.
 */
export function mayBeOrphan({ key, storedAtMs }: BlobInfo, nowMs: number): boolean {
  const latestMs = nowMs - minOrphanAgeMs;
  return storedAtMs < latestMs && blobKeyTimeMs(key) < latestMs;
}

/** `refuseLate` throws for uploaded content that a sweep may be about to delete, because its upload began too long ago. */
export function refuseLate(key: string, nowMs: number): void {
  if (nowMs - blobKeyTimeMs(key) <= maxUnnamedAgeMs) return;
  throw new Fault(
    "IoError",
    `the upload began more than ${maxUnnamedAgeMs / hourMs} hours ago, or the clock of the server is wrong; nothing was changed, send the file again`,
  );
}
