import { type FileHandle, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { Folder } from "../base/local-fs/folder.ts";
import { readRegularFile } from "../base/local-fs/read-regular.ts";
import type { DatabaseSettings } from "../db/database.ts";
import { openSnapshot } from "../db/dump/snapshot.ts";
import type { LogHub } from "../log/hub.ts";
import { type FilesSource, openFiles } from "./files-source.ts";
import { clearUnfinished, unfinishedName } from "./unfinished-backup.ts";
import { type BackupSummary, type WriteOptions, writeBackup } from "./write-backup.ts";

/** BackupSource is what a backup is made of. It can be sent to another process as JSON. */
export interface BackupSource {
  readonly database: DatabaseSettings;
  readonly configPath: string;
  readonly serverUuid: string | undefined;
  /** Where the files of all buckets are; undefined for a backup without files. */
  readonly files: FilesSource | undefined;
}

export interface BackupResult extends BackupSummary {
  /** Tables that are not this server's, which the backup does not contain. */
  readonly otherTables: readonly string[];
}

/** `makeBackup` reads beside a running server and writes the stream of a backup. */
export async function makeBackup(
  { database, configPath, serverUuid, files: filesSource }: BackupSource,
  hub: LogHub,
  options: WriteOptions,
): Promise<BackupResult> {
  const config = await readRegularFile(configPath);
  const snapshot = await openSnapshot(database, hub);
  try {
    await using files = filesSource && (await openFiles(filesSource, database, hub));
    const summary = await writeBackup({ snapshot, config, serverUuid, files }, options);
    return { ...summary, otherTables: snapshot.otherTables };
  } finally {
    await snapshot.close();
  }
}

/**
 * `makeBackupFile` writes a backup to `path`, readable by its owner alone. It is written beside and renamed when it is complete and
 * on the disk, so a file at `path` is always a whole backup; if it fails, nothing is left. What a killed process left in the folder
 * is removed.
 */
export async function makeBackupFile(
  path: string,
  source: BackupSource,
  { hub, ...options }: Omit<WriteOptions, "write"> & { readonly hub: LogHub },
): Promise<BackupResult> {
  await refuseOtherKinds(path);
  const folder = await Folder.open(dirname(path));
  const beside = folder.at(unfinishedName());
  try {
    await clearUnfinished(folder);
    const file = await named(path, () => open(beside, "wx", 0o600));
    let result: BackupResult;
    try {
      const write = (bytes: Uint8Array) => named(path, () => writeAll(file, bytes));
      result = await makeBackup(source, hub, { ...options, write });
      await named(path, () => file.sync());
    } finally {
      await file.close();
    }
    options.signal?.throwIfAborted();
    await named(path, () => rename(beside, folder.at(basename(path))));
    await folder.sync();
    return result;
  } finally {
    await rm(beside, { force: true });
    await folder.close();
  }
}

/** A rename would replace a device or a link by a file. */
async function refuseOtherKinds(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isFile()) return;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  throw new Fault(
    "InvalidInput",
    `${resolve(path)} is not a regular file; name a file, or - for standard output`,
  );
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; )
    at += (await file.write(bytes, at, bytes.length - at, null)).bytesWritten;
}

/** `named` puts the path that people know into a system error: its own names a temporary file or nothing. */
async function named<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw Object.assign(new Error(`${path} cannot be written: ${messageOf(error)}`, { cause: error }), {
      code,
      path,
    });
  }
}
