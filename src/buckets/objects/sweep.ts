import { Fault } from "../../base/fault.ts";
import { Pacer } from "../../base/turns.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import type { BlobStore } from "./blob-store.ts";
import { ListedBlobs } from "./listed-blobs.ts";
import { mayBeOrphan } from "./orphan-age.ts";
import { purgeRemoved } from "./purge-removed.ts";

/** Blobs of the listing that are held in memory at once: 25 MB. The database is read once for each such part of the store. */
const maxListedBlobs = 1024 * 1024;
const blobsPerDelete = 1000;
/** A sweep that would delete more blobs than this, and more than half of those that it looked at, deletes none. */
const maxUnquestionedBlobs = 1000;

export interface SweepOptions {
  readonly rows: RemovedRows;
  readonly blobs: BlobStore;
  /** Ends the sweep between two steps. Whatever it has done by then is complete. */
  readonly signal: AbortSignal;
  /** The number of blobs that are held in memory at once; for tests. */
  readonly maxListed?: number;
  /** The age of blobs is that at this time, in place of the database's clock; for tests. */
  readonly nowMs?: number;
  /** Blobs that nothing names are not deleted before this time, in Unix milliseconds of the database's clock. */
  readonly keepOrphansUntil?: number;
  /** Whether any number of blobs may be deleted. Otherwise a store that seems to belong to another database is left alone. */
  readonly isConfirmed?: boolean;
}

/** SweepResult counts what a sweep has deleted. */
export interface SweepResult {
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
 * No blob that is named, or ever will be, is deleted. The store is listed first and the rows are read afterwards, in one state of the
 * database. A blob gets its first name from the commit of its upload, which `refuseLate` refuses long before the blob is old enough to
 * be deleted. Every later name is taken from a row that names the blob already (a copy, a move, a restored version), in the same
 * transaction: so if the state that was read had no name for an old blob, none can come.
 */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { rows, blobs, signal } = options;
  const purgedRows = await purgeRemoved(rows, signal);
  const deleted = await deleteOrphans(options);
  signal.throwIfAborted();
  return { purgedRows, ...deleted, unfinished: await blobs.clearUnfinished() };
}

/** `deleteOrphans` deletes the blobs that nothing names, as a part of `sweep`. */
export async function deleteOrphans(
  options: SweepOptions,
): Promise<Pick<SweepResult, "deletedBlobs" | "deletedBytes">> {
  const { rows, blobs, signal, maxListed = maxListedBlobs, keepOrphansUntil = 0 } = options;
  const now = options.nowMs ?? (await rows.now());
  if (now < keepOrphansUntil) return { deletedBlobs: 0, deletedBytes: 0 };
  const listed = new ListedBlobs(maxListed);
  const total = { deletedBlobs: 0, deletedBytes: 0 };
  const deleteUnnamed = async () => {
    if (listed.count === 0) return;
    await crossOutNamed(listed, rows, signal);
    if (!options.isConfirmed) refuseDoubtful(listed);
    for (const orphans of listed.remaining(blobsPerDelete)) {
      signal.throwIfAborted();
      await blobs.delete(orphans.map(({ key }) => key));
      total.deletedBlobs += orphans.length;
      for (const { size } of orphans) total.deletedBytes += size;
    }
    listed.clear();
  };
  for await (const batch of blobs.list()) {
    signal.throwIfAborted();
    for (const blob of batch) {
      if (!mayBeOrphan(blob, now)) continue;
      listed.add(blob);
      if (listed.isFull) await deleteUnnamed();
    }
  }
  await deleteUnnamed();
  return total;
}

async function crossOutNamed(listed: ListedBlobs, rows: RemovedRows, signal: AbortSignal): Promise<void> {
  const pacer = new Pacer();
  await rows.readSnapshot(async (names) => {
    for await (const batch of names.all()) {
      signal.throwIfAborted();
      for (const { blob } of batch) if (blob !== null) listed.crossOut(blob);
      if (pacer.isDue) await pacer.nextTurn();
    }
  });
}

/** `refuseDoubtful` throws if most blobs have no name: then the database is more likely to be wrong than the store. */
function refuseDoubtful(listed: ListedBlobs): void {
  const { remainingCount: orphans, count } = listed;
  if (orphans <= maxUnquestionedBlobs || orphans * 2 <= count) return;
  throw new Fault(
    "Other",
    `${orphans} of ${count} blobs in the store are named by no row of this database, so they were not deleted. If the store is that of another server, or the database is not the right one, change the configuration; if they may go, run \`node-server check --files --repair\``,
    { orphans, blobs: count },
  );
}
