// This folder writes and restores backups, and copies a server to another database or store. A backup is a tar stream
// (tar.ts) of portable rows, files and a manifest (manifest.ts): write-backup.ts reads the files and writes it, and
// this file puts it at its path. schedule.ts does that in a child process, at an interval and before a new version
// changes the schema. read-backup.ts verifies every byte, then restore.ts replaces the database and the trees of the
// buckets. copy-database.ts and copy-files.ts are the steps of `migrate`. Files of buckets are read and written by the
// ports of buckets/ alone.

import { randomBytes } from "node:crypto";
import { type FileHandle, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { readRegularFile } from "../base/local-fs/access.ts";
import { Folder } from "../base/local-fs/folder.ts";
import { isRunning } from "../base/process.ts";
import { type FilesSource, openPublished } from "../buckets/open-storage.ts";
import type { DatabaseSettings } from "../db/database.ts";
import { openSnapshot } from "../db/dump/load-target.ts";
import type { LogHub } from "../log/hub.ts";
import { headerName } from "./manifest.ts";
import { verifyBackup } from "./read-backup.ts";
import {
  type BackupDescription,
  type BackupSummary,
  describeBackup,
  type WriteOptions,
  writeBackup,
} from "./write-backup.ts";

/** BackupSource is what a backup is made of. It can be sent to another process as JSON. */
export interface BackupSource {
  readonly database: DatabaseSettings;
  readonly configPath: string;
  readonly serverUuid: string | undefined;
  /** Where the files of all buckets are; undefined for a backup without files. */
  readonly files: FilesSource | undefined;
  /** True to include private keys of certificates. */
  readonly keys?: boolean | undefined;
}

export interface BackupResult extends BackupSummary {
  /** Tables that are not this server's, which the backup does not contain. */
  readonly otherTables: readonly string[];
}

/** `makeBackup` reads beside a running server and writes the stream of a backup. */
export async function makeBackup(
  { database, configPath, serverUuid, files: filesSource, keys }: BackupSource,
  hub: LogHub,
  options: WriteOptions,
): Promise<BackupResult> {
  const config = await readRegularFile(configPath);
  const snapshot = await openSnapshot(database, hub);
  try {
    await using files = filesSource && (await openPublished(filesSource, database, hub));
    const summary = await writeBackup({ snapshot, config, serverUuid, files, keys }, options);
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

/**
 * `isBackupOf` returns whether `path` is a whole backup, made by this version without files, of exactly what the database and the
 * configuration hold now. It reads both, and writes nothing.
 */
export async function isBackupOf(
  path: string,
  { database, configPath, serverUuid }: BackupSource,
  { hub, signal }: { readonly hub: LogHub; readonly signal: AbortSignal },
): Promise<boolean> {
  let known: BackupDescription;
  try {
    known = await verifyBackup(path, { signal });
  } catch {
    // A damaged file, or one that cannot be read, is not the way back.
    signal.throwIfAborted();
    return false;
  }
  const config = await readRegularFile(configPath);
  const snapshot = await openSnapshot(database, hub);
  try {
    const present = await describeBackup({ snapshot, config, serverUuid }, signal);
    return isDeepStrictEqual(stateOf(known), stateOf(present));
  } finally {
    await snapshot.close();
  }
}

/** `stateOf` returns what two backups of the same state have in common. Their headers differ in the time. */
function stateOf({ header, manifest }: BackupDescription): object {
  const members = manifest.members.filter(({ name }) => name !== headerName);
  return { ...header, made_at: undefined, rows: manifest.rows, members };
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

const form = /^\.node-server-backup-(\d+)-[0-9a-f]{16}\.tmp$/;

/**
 * The time without a write after which the file of a process that does not run here is a leftover. A folder may be shared with
 * other machines and containers, whose processes cannot be seen.
 */
const minIdleMs = 600_000;

/** `unfinishedName` returns a new name for a backup that is being written. It contains the process id. */
function unfinishedName(): string {
  return `.node-server-backup-${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
}

/** `clearUnfinished` removes the unfinished backups that killed processes of this user left in a folder. */
async function clearUnfinished(folder: Folder): Promise<void> {
  for (const name of await folder.names()) {
    const [, pid] = form.exec(name) ?? [];
    // In a container the next process often has the same id: this one has not begun its file yet.
    if (pid === undefined || (Number(pid) !== process.pid && isRunning(Number(pid)))) continue;
    try {
      const stats = await lstat(folder.at(name));
      const isMine = stats.uid === (process.geteuid?.() ?? stats.uid);
      if (stats.isFile() && isMine && Math.abs(Date.now() - stats.mtimeMs) >= minIdleMs)
        await rm(folder.at(name), { force: true });
    } catch (error) {
      // A file that cannot be removed now is tried again by the next backup.
      if (codeOf(error) === undefined) throw error;
    }
  }
}
