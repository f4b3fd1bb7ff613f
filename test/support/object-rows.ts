import { linkSync, mkdirSync } from "node:fs";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { type Database, openDatabase } from "../../src/db/database.ts";
import type { EntryValue, FileValue, FolderValue, RemovedValue } from "../../src/db/rows/entry-values.ts";
import { LogHub } from "../../src/log/hub.ts";
import { never, sha256 } from "./blob-stores.ts";
import { settingsFor } from "./database-settings.ts";
import { type DatabaseKind, migratedDatabase, tempFolder } from "./node.ts";

const dayMs = 24 * 3600 * 1000;

/** A database and a folder of blobs, with rows that a test writes itself: as old as it wants them. */
export interface ObjectRows extends AsyncDisposable {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly blobs: FolderBlobs;
  readonly folder: string;
  readonly hub: LogHub;
  /** A further process's view of the same database. */
  open(): Promise<Database>;
  put(namespace: string, key: string, value: unknown): Promise<void>;
  /** Writes many rows at once. */
  putAll(namespace: string, values: ReadonlyMap<string, unknown>): Promise<void>;
  /** The head of a bucket. */
  head(bucket: string, root: string): Promise<void>;
  entry(folderId: string, name: string, value: EntryValue): Promise<void>;
  removed(bucket: string, key: string, value: Pick<RemovedValue, "entry" | "until">): Promise<void>;
  /** The rows of a folder, by name. */
  names(folderId: string): Promise<string[]>;
  removedKeys(bucket: string): Promise<string[]>;
}

export async function objectRows(kind: DatabaseKind): Promise<ObjectRows> {
  const folder = await tempFolder();
  const place = await migratedDatabase(kind, folder.path);
  const hub = new LogHub();
  const settings = {
    ...settingsFor(place.url),
    timeout_ms: 20_000,
    max_connections: 2,
  };
  const database = await openDatabase(settings, hub, { create: true });
  const blobFolder = join(folder.path, "blobs");
  await mkdir(blobFolder);
  const blobs = new FolderBlobs(blobFolder, { sync: false });
  await blobs.check(never);
  const putAll: ObjectRows["putAll"] = (namespace, write) =>
    database.kv.change(namespace, { keys: [] }, () => ({ write, result: undefined }));
  const put: ObjectRows["put"] = (namespace, key, value) => putAll(namespace, new Map([[key, value]]));
  return {
    database,
    databaseUrl: place.url,
    blobs,
    folder: blobFolder,
    hub,
    open: () => openDatabase(settings, hub, { create: false }),
    put,
    putAll,
    head: (bucket, root) => put("static-files/heads", bucket, { version: 1, root, at: Date.now() }),
    entry: (folderId, name, value) => put(`static-files/${folderId}`, name, value),
    removed: (bucket, key, { entry, until }) =>
      put(`static-files/removed/${bucket}`, key, {
        path: key.slice(key.indexOf("/") + 1),
        entry,
        at: until - 7 * dayMs,
        until,
      }),
    names: (folderId) => keysOf(database.removed.current.entries(folderId)),
    removedKeys: (bucket) => keysOf(database.removed.current.removed(bucket)),
    async [Symbol.asyncDispose]() {
      await database.close();
      await place.drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function keysOf(batches: AsyncGenerator<ReadonlyArray<{ readonly key: string }>>): Promise<string[]> {
  return (await Array.fromAsync(batches))
    .flat()
    .map(({ key }) => key)
    .sort();
}

/** A blob that was stored so many hours ago, by its key and by the clock of the store. */
export async function agedBlob(
  folder: string,
  content: string,
  hours: { readonly key: number; readonly stored: number },
): Promise<FileValue> {
  const at = Date.now() - hours.key * 3600_000;
  const key = Bun.randomUUIDv7("hex", at);
  const path = join(folder, "blobs", key.slice(-2), key);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content);
  const stored = new Date(Date.now() - hours.stored * 3600_000);
  await utimes(path, stored, stored);
  return fileValue(key, content, at);
}

export const oldBlob = (folder: string, content: string) =>
  agedBlob(folder, content, { key: 48, stored: 48 });

/** Makes blobs as old as `key` that have its content; as links to its file they cost little. */
export function linkBlobs(folder: string, key: string, count: number): void {
  const pathOf = (blob: string) => join(folder, "blobs", blob.slice(-2), blob);
  for (let made = 0; made < count; made += 1) {
    const path = pathOf(Bun.randomUUIDv7("hex", Date.now() - 2 * dayMs));
    mkdirSync(dirname(path), { recursive: true });
    linkSync(pathOf(key), path);
  }
}

export function fileValue(blob: string | null, content: string, at = Date.now()): FileValue {
  const size = Buffer.byteLength(content);
  return { blob, hash: sha256(content), size, modified: at, created: at, version: 1 };
}

export function folderValue(id: string = Bun.randomUUIDv7()): FolderValue {
  return { id, modified: Date.now(), created: Date.now(), version: 1 };
}

/** Many values with the keys `0`, `1` and so on. */
export function numbered(
  count: number,
  valueAt: (at: number) => unknown = (at) => at,
): ReadonlyMap<string, unknown> {
  return new Map(Array.from({ length: count }, (_, at) => [`${at}`, valueAt(at)]));
}

/** The keys of all blobs in a folder, sorted. */
export async function storedKeys(folder: string): Promise<string[]> {
  const found = await readdir(join(folder, "blobs"), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}
