import { type BlobSettings, openBlobs, openContent, proveBlobs } from "../blobs/open-blobs.ts";
import type { Database, DatabaseSettings } from "../db/database.ts";
import type { Freshness } from "../db/freshness.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { storageMaintenance } from "./maintenance/storage-maintenance.ts";
import { StoreIdentity } from "./maintenance/store-identity.ts";
import { watchBlobs } from "./maintenance/store-watch.ts";
import type { BucketStorage, FileReader, NewTrees, PublishedFiles } from "./ports.ts";
import { DiskStorage } from "./trees/disk/disk-storage.ts";
import { NewDiskTrees } from "./trees/disk/new-trees.ts";
import { DiskReader, publishedOnDisk } from "./trees/disk/read.ts";
import { PathResolver } from "./trees/disk/resolve.ts";
import { NewRowTrees, type NewRowTreesOptions } from "./trees/rows/new-trees.ts";
import { ObjectStorage, openObjectReaders } from "./trees/rows/object-storage.ts";

/** FilesSettings are the keys of the table `[files]` of the configuration. */
interface FilesSettings extends Omit<BlobSettings, "url"> {
  /** Undefined for plain files on the disk. */
  readonly url?: string | undefined;
  /** Set if `url` names a remote store. */
  readonly cache_path?: string | undefined;
  readonly cache_bytes: number;
}

export interface StorageSettings {
  readonly files: FilesSettings;
  readonly staticPath: string;
  /** For how many days deleted and replaced files are kept. */
  readonly keepRemovedDays: number;
  readonly syncUploads: boolean;
  readonly serverUuid: string;
  readonly freshness: Freshness;
  /** Whether a blob store may be empty though the database names content: it is about to be copied there. */
  readonly mayBeEmpty?: boolean;
  readonly log: Logger;
}

/** openFolder reads a folder as that of a bucket, without a storage. */
export function openFolder(folder: string): FileReader {
  return new DiskReader(new PathResolver(folder));
}

/** openStorage opens the storage that the configuration names. Throws what an operator has to do if it cannot be used. */
export async function openStorage(database: Database, settings: StorageSettings): Promise<BucketStorage> {
  const { files, syncUploads, log } = settings;
  const { clock } = database;
  const { url } = files;
  if (url === undefined) {
    const hasBuckets = async () => (await database.buckets.names()).length > 0;
    const identity = new StoreIdentity({ database, blobs: undefined, url, log });
    return new DiskStorage({ ...settings, hasBuckets, identity, clock });
  }
  const holdsContent = !settings.mayBeEmpty && (await database.removed.names.haveContent());
  const blobs = openBlobs({ ...files, url }, { sync: syncUploads, holdsContent });
  await proveBlobs(blobs);
  const identity = new StoreIdentity({ database, blobs, url, log });
  return new ObjectStorage({
    database,
    blobs,
    identity,
    content: openContent(blobs, { path: files.cache_path ?? "", maxBytes: files.cache_bytes, log }),
    health: watchBlobs(blobs, { url, log, clock }),
    maintenance: storageMaintenance({ database, blobs, identity, serverUuid: settings.serverUuid, log }),
    syncUploads,
    keepRemovedDays: settings.keepRemovedDays,
    freshness: settings.freshness,
    log,
  });
}

/** FilesSource is where the files of the buckets are: below a folder, or in a blob store. It can be sent to another process as JSON. */
export type FilesSource = { readonly staticPath: string } | { readonly blobs: BlobSettings };

/**
 * openPublished opens the files of buckets beside a running server. Names in the database are read as they are now. Throws what an
 * operator has to do if the store cannot be used.
 */
export async function openPublished(
  source: FilesSource,
  database: DatabaseSettings,
  hub: LogHub,
): Promise<PublishedFiles> {
  return "staticPath" in source
    ? publishedOnDisk(source.staticPath)
    : openObjectReaders(source.blobs, database, hub);
}

/** FilesTarget is where whole trees go: below a folder, or into a blob store and rows. */
export type FilesTarget =
  | { readonly staticPath: string }
  | { readonly blobs: BlobSettings; readonly sync: boolean };

/** openNewTrees begins trees of buckets. Throws what an operator has to do if the store cannot be used. */
export async function openNewTrees(
  target: FilesTarget,
  { insert, signal }: Omit<NewRowTreesOptions, "blobs">,
): Promise<NewTrees> {
  if ("staticPath" in target) return new NewDiskTrees(target.staticPath);
  const blobs = openBlobs(target.blobs, target);
  await proveBlobs(blobs, signal);
  return new NewRowTrees({ blobs, insert, signal });
}
