import type { BlobStore } from "../blobs/blob-store.ts";
import { type BlobSettings, openBlobs, proveBlobs } from "../blobs/open-blobs.ts";
import { type CopyMeter, copyBucket } from "../buckets/copy-bucket.ts";
import { RowVersions } from "../buckets/history/rows/versions.ts";
import { copyBlobs, measureBlobs } from "../buckets/maintenance/copy-blobs.ts";
import { copiedTo, diskStore, markStore, type StoreMark } from "../buckets/maintenance/store-identity.ts";
import { forgetVersions } from "../buckets/maintenance/sweep.ts";
import { Metadata } from "../buckets/metadata/metadata.ts";
import { openStorage, type StorageSettings } from "../buckets/open-storage.ts";
import type { BucketStorage, FileReader, VersionsSize } from "../buckets/ports.ts";
import type { Bucket } from "../buckets/record.ts";
import { objectReaders } from "../buckets/trees/rows/object-storage.ts";
import { type Database, type DatabaseSettings, openDatabase } from "../db/database.ts";
import { claimDatabase } from "../db/dump/load-target.ts";
import { Freshness } from "../db/freshness.ts";
import { metadataRows } from "../db/rows/metadata-rows.ts";
import type { FileOfBlob, StoreIdentityRows } from "../db/rows/store-rows.ts";
import type { LogHub } from "../log/hub.ts";

type Files = StorageSettings["files"];

interface CopyLoad {
  readonly files: number;
  readonly bytes: number;
  /** Undefined if everything is copied. */
  readonly notMoved?: NotMoved;
}

/** NotMoved is what stays in the source, and can no longer be reached after a complete copy. */
export interface NotMoved {
  /** Deploys that were published before. */
  readonly earlierDeploys: number;
  /** Deploys that were not published yet. */
  readonly newDeploys: number;
  /** What was deleted or replaced and could be restored. */
  readonly versions: number;
}

interface CopyFilesOptions {
  readonly database: DatabaseSettings;
  readonly staticPath: string;
  readonly serverUuid: string;
  readonly from: Files;
  readonly to: Files;
  /** For how many days the target keeps what it replaces; plain files are not kept. */
  readonly keepRemovedDays: number;
  /** Whether files that only the target has are deleted there. */
  readonly deletesOthers: boolean;
  /** Called when it is known how much there is to copy. */
  begin(load: CopyLoad): CopyMeter;
  readonly hub: LogHub;
  readonly signal: AbortSignal;
}

/** CopyFilesReport is what a copy of all files to another store has done. */
export interface CopyFilesReport {
  /** The buckets of which files were copied; undefined if all blobs were, whatever bucket they belong to. */
  readonly buckets: number | undefined;
  readonly copied: number;
  readonly unchanged: number;
  /** Files that only the target has, as bucket and path. */
  readonly others: readonly string[];
  readonly failures: ReadonlyArray<{ readonly what: string; readonly why: string }>;
  /** Files whose content the source does not have either; only between two blob stores. */
  readonly lost: ReadonlyArray<FileOfBlob>;
  /** Rows that were deleted because they named content of an earlier object store. */
  readonly forgotten: number;
}

/**
 * `copyFiles` copies the files of all buckets from one store to another, and leaves the source as it is. It can be repeated: what the
 * target has already is not copied again. Throws if a server uses the database, or if one of the stores cannot be used.
 */
export async function copyFiles(options: CopyFilesOptions): Promise<CopyFilesReport> {
  const { database: settings, from, to, hub } = options;
  const release = await claimDatabase(settings, hub);
  try {
    const database = await openDatabase(settings, hub, { create: false });
    try {
      if (from.url === undefined || to.url === undefined) return await copyBuckets(database, options);
      return await copyAllBlobs(database, options, {
        from: { ...from, url: from.url },
        to: { ...to, url: to.url },
      });
    } finally {
      await database.close();
    }
  } finally {
    release();
  }
}

/** Between two blob stores the rows stay as they are. */
async function copyAllBlobs(
  { removed: rows, storeIdentity }: Database,
  { begin, signal }: CopyFilesOptions,
  { from, to }: { readonly from: BlobSettings; readonly to: BlobSettings },
): Promise<CopyFilesReport> {
  const [source, target] = [openBlobs(from, { sync: true }), openBlobs(to, { sync: true })];
  await proveBlobs(target, signal);
  const { store } = await markTarget(storeIdentity, target, to.url);
  const meter = begin(await measureBlobs(rows));
  const { copied, unchanged, failures, lost } = await copyBlobs({ rows, source, target, meter, signal });
  if (failures.length === 0) await copiedTo(storeIdentity, store);
  return {
    buckets: undefined,
    copied,
    unchanged,
    others: [],
    forgotten: 0,
    lost,
    failures: failures.map(({ blob, fault }) => ({ what: `blob ${blob}`, why: fault.detail })),
  };
}

async function copyBuckets(database: Database, options: CopyFilesOptions): Promise<CopyFilesReport> {
  const { from, to, deletesOthers, begin, signal } = options;
  const target = await openTarget(database, options, to);
  const store =
    to.url === undefined ? diskStore : await markOf(database.storeIdentity, { ...to, url: to.url });
  const source = await openSource(database, options, from);
  try {
    const buckets = await database.buckets.byNames(await database.buckets.names());
    const notMoved = await measureNotMoved(database, source, buckets);
    const meter = begin({ ...(await measure(source, buckets)), notMoved });
    const report = {
      copied: 0,
      unchanged: 0,
      others: [] as string[],
      failures: [] as Array<{ what: string; why: string }>,
    };
    for (const bucket of buckets) {
      await database.transact((transaction) => target.recreate({ path: bucket.path, transaction }));
      const done = await copyBucket({
        source: source.readerOf(bucket),
        target: treeOf(database, target, bucket),
        deletesOthers,
        meter,
        signal,
      });
      report.copied += done.copied;
      report.unchanged += done.unchanged;
      report.others.push(...done.others.map((path) => `${bucket.name}/${path}`));
      for (const { path, fault } of done.failures)
        report.failures.push({ what: `${bucket.name}/${path}`, why: fault.detail });
    }
    const isComplete = report.failures.length === 0 && report.others.length === 0;
    if (isComplete) {
      await copiedTo(database.storeIdentity, store);
      // Only the published files were copied: the trees of the deploys stay in the former store.
      await database.deploys.removeAll();
    }
    const recorded = new Set(buckets.map(({ path }) => path));
    const forgotten =
      isComplete && to.url !== undefined ? await forgetVersions(database.removed, { recorded, signal }) : 0;
    return { buckets: buckets.length, ...report, lost: [], forgotten };
  } finally {
    await source.close();
    await target.close();
  }
}

/** The id of the target, which becomes this database's own if it is empty. */
async function markOf(rows: StoreIdentityRows, to: BlobSettings): Promise<string> {
  const { store } = await markTarget(rows, openBlobs(to, { sync: true }), to.url);
  return store;
}

function markTarget(rows: StoreIdentityRows, target: BlobStore, url: string): Promise<StoreMark> {
  return markStore(rows, target, { url, store: Bun.randomUUIDv7() });
}

interface Source {
  readerOf(bucket: Bucket): FileReader;
  measureVersions(bucket: Bucket): Promise<VersionsSize>;
  close(): Promise<void>;
}

/** Opens a store to read it. Nothing is written to it, not even what would prove that it could be. */
async function openSource(database: Database, options: CopyFilesOptions, files: Files): Promise<Source> {
  if (files.url === undefined) {
    const storage = await openTarget(database, options, files);
    return {
      readerOf: (bucket) => treeOf(database, storage, bucket).reader,
      measureVersions: (bucket) => treeOf(database, storage, bucket).versions.measure(),
      close: () => storage.close(),
    };
  }
  const readers = objectReaders(
    database,
    openBlobs({ ...files, url: files.url }, { sync: true }),
    options.hub,
  );
  return {
    readerOf: (bucket) => readers.readerOf(bucket),
    measureVersions: ({ path }) =>
      new RowVersions({ database, bucketPath: path, retentionDays: 0 }).measure(),
    close: async () => {},
  };
}

function openTarget(
  database: Database,
  { staticPath, serverUuid, keepRemovedDays, hub }: CopyFilesOptions,
  files: Files,
): Promise<BucketStorage> {
  return openStorage(database, {
    // What is read back must come from the store.
    files: { ...files, cache_bytes: 0 },
    staticPath,
    keepRemovedDays: files.url === undefined ? 0 : keepRemovedDays,
    syncUploads: true,
    serverUuid,
    freshness: new Freshness(database),
    mayBeEmpty: true,
    log: hub.logger("server"),
  });
}

function treeOf(database: Database, storage: BucketStorage, bucket: Bucket) {
  const metadata = Metadata.ofBucket(bucket.name, metadataRows(database));
  return storage.open({ bucket, metadata, onChanged() {} });
}

async function measureNotMoved(
  { deploys }: Database,
  source: Source,
  buckets: readonly Bucket[],
): Promise<NotMoved> {
  const notMoved = { earlierDeploys: 0, newDeploys: 0, versions: 0 };
  for (const bucket of buckets) {
    notMoved.versions += (await source.measureVersions(bucket)).versions;
    for (const { state } of (await deploys.list(bucket.path)).values())
      if (state === "previous") notMoved.earlierDeploys += 1;
      else if (state !== "published") notMoved.newDeploys += 1;
  }
  return notMoved;
}

async function measure(
  source: Source,
  buckets: readonly Bucket[],
): Promise<{ files: number; bytes: number }> {
  const total = { files: 0, bytes: 0 };
  for (const bucket of buckets)
    for await (const { sizes } of source.readerOf(bucket).fileSizes()) {
      total.files += sizes.length;
      for (const size of sizes) total.bytes += size;
    }
  return total;
}
