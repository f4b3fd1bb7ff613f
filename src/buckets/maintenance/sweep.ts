import { Fault } from "../../base/fault.ts";
import { Pacer } from "../../base/turns.ts";
import { type BlobInfo, type BlobStore, blobKeyTimeMs } from "../../blobs/blob-store.ts";
import type { RemovedRows } from "../../db/rows/removed-rows.ts";
import { purgeRemoved } from "./purge-removed.ts";

/** Blobs of the listing that are held in memory at once: 25 MB. The database is read once for each such part of the store. */
const maxListedBlobs = 1024 * 1024;
const blobsPerDelete = 1000;
/** A sweep that would delete more blobs than this, and more than half of those that it listed, deletes none. */
const maxUnquestionedBlobs = 1000;

interface SweepOptions {
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
    `${orphans} of ${count} blobs in the store are unreferenced, so the store or the database may be the wrong one; nothing was deleted. Check [files] url and database_url; if both are right, run \`node-server check --files --repair\``,
    { orphans, blobs: count },
  );
}

/** Four numbers of 32 bits are one key. */
const partsPerKey = 4;

/**
 * ListedBlobs is a part of a store's listing in compact form: 25 bytes for each blob. Blobs are added in the order of their keys; each
 * can be found by its key and crossed out.
 */
export class ListedBlobs {
  readonly #parts: Uint32Array;
  readonly #sizes: Float64Array;
  readonly #isCrossedOut: Uint8Array;
  #count = 0;
  #crossedOut = 0;

  constructor(maxBlobs: number) {
    this.#parts = new Uint32Array(maxBlobs * partsPerKey);
    this.#sizes = new Float64Array(maxBlobs);
    this.#isCrossedOut = new Uint8Array(maxBlobs);
  }

  get count(): number {
    return this.#count;
  }

  /** The number of blobs that were not crossed out. */
  get remainingCount(): number {
    return this.#count - this.#crossedOut;
  }

  get isFull(): boolean {
    return this.#count === this.#sizes.length;
  }

  /** Throws TypeError if the blob is not after the one before: a key that is in the wrong place would not be found. */
  add({ key, size }: Pick<BlobInfo, "key" | "size">): void {
    const parts = partsOf(key);
    if (this.#count > 0 && this.#compare(this.#count - 1, parts) >= 0)
      throw new TypeError(`the store lists the blob ${key} out of order`);
    this.#parts.set(parts, this.#count * partsPerKey);
    this.#sizes[this.#count] = size;
    this.#count += 1;
  }

  /** Crosses a blob out and returns its size in the store, in bytes; undefined if it is not in this part. */
  crossOut(key: string): number | undefined {
    const at = this.#find(key);
    if (at === undefined) return undefined;
    if (this.#isCrossedOut[at] === 0) this.#crossedOut += 1;
    this.#isCrossedOut[at] = 1;
    return this.#sizes[at];
  }

  /** The blobs that were not crossed out, in batches. */
  *remaining(batchBlobs: number): Generator<ReadonlyArray<Pick<BlobInfo, "key" | "size">>> {
    let batch: Array<Pick<BlobInfo, "key" | "size">> = [];
    for (let at = 0; at < this.#count; at += 1) {
      if (this.#isCrossedOut[at] === 1) continue;
      batch.push({ key: this.#keyAt(at), size: this.#sizes[at] ?? 0 });
      if (batch.length < batchBlobs) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  clear(): void {
    this.#isCrossedOut.fill(0, 0, this.#count);
    this.#count = 0;
    this.#crossedOut = 0;
  }

  #find(key: string): number | undefined {
    const parts = partsOf(key);
    let [from, to] = [0, this.#count];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const order = this.#compare(middle, parts);
      if (order === 0) return middle;
      if (order < 0) from = middle + 1;
      else to = middle;
    }
    return undefined;
  }

  #compare(at: number, parts: readonly number[]): number {
    for (let part = 0; part < partsPerKey; part += 1) {
      const difference = (this.#parts[at * partsPerKey + part] ?? 0) - (parts[part] ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #keyAt(at: number): string {
    let digits = "";
    for (let part = 0; part < partsPerKey; part += 1)
      digits += (this.#parts[at * partsPerKey + part] ?? 0).toString(16).padStart(8, "0");
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
}

function partsOf(key: string): number[] {
  const digits = key.replaceAll("-", "");
  return [0, 8, 16, 24].map((at) => Number.parseInt(digits.slice(at, at + 8), 16));
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
