import { lstatSync, renameSync } from "node:fs";
import { lstat, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { SharedRuns } from "../../../base/concurrency.ts";
import { codeOf, Fault } from "../../../base/fault.ts";
import { type FileCalls, syncFileCalls } from "../../../base/local-fs/file-calls.ts";
import type { Folder } from "../../../base/local-fs/folder.ts";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { TreeHistory } from "../../history/disk/disk-history.ts";
import type { Metadata } from "../../metadata/metadata.ts";
import { splitPath, type TreePath } from "../../path.ts";
import {
  type CopyOptions,
  type Failure,
  type FileEntry,
  type FileVersion,
  folderExists,
  type MoveOptions,
  notFound,
  type PutOptions,
  type Removal,
  type StagedFile,
  type Times,
  type VersionName,
  type WriteTransaction,
} from "../../ports.ts";
import { copyTree } from "./copy.ts";
import { crossesDisks, toTreeFault } from "./disk-faults.ts";
import { DiskStats } from "./entry.ts";
import type { DiskReader } from "./read.ts";
import { removeTree, removeTreeAt } from "./remove-tree.ts";
import { attemptSync, type NameInFolder, type PathResolver, refuseTooDeep } from "./resolve.ts";
import { DiskStagedFile, type Staging } from "./staging.ts";
import { storedRecord, storeRecord } from "./stored-record.ts";

export interface DiskWriterOptions {
  readonly metadata: Metadata;
  readonly staging: Staging;
  /** Whether a change is on the disk, and not only in its cache, before it is answered. */
  readonly sync: boolean;
  /** Aborts when the server stops: copies end, and what they made so far is removed. */
  readonly stopping: AbortSignal;
  /** Keeps what is deleted or replaced. */
  readonly history: TreeHistory;
  /** For calls that change names and times. */
  readonly calls: FileCalls;
}

/**
 * DiskWriter changes a bucket's folder. Everything is created in staging and renamed into place; what it replaces is deleted
 * last.
 */
export class DiskWriter implements WriteTransaction {
  readonly database = undefined;
  readonly reader: DiskReader;
  readonly metadata: Metadata;
  readonly #paths: PathResolver;
  readonly #staging: Staging;
  readonly #sync: boolean;
  readonly #stopping: AbortSignal;
  readonly #changes: FileCalls;
  readonly #folderSyncs = new SharedRuns();
  readonly #history: TreeHistory;
  /** Undefined if what is deleted or replaced is gone. */
  readonly #trashWriter: TreeHistory["trashWriter"];

  constructor(
    reader: DiskReader,
    paths: PathResolver,
    { metadata, staging, sync, stopping, history, calls }: DiskWriterOptions,
  ) {
    this.reader = reader;
    this.metadata = metadata;
    this.#paths = paths;
    this.#staging = staging;
    this.#sync = sync;
    this.#changes = calls;
    this.#stopping = stopping;
    this.#history = history;
    this.#trashWriter = history.trashWriter;
  }

  async put(staged: StagedFile, to: TreePath, { makeParents, modified }: PutOptions): Promise<DiskStats> {
    this.#paths.assertFits(to);
    const content = DiskStagedFile.from(staged);
    const { folder, name } = splitPath(to);
    return this.#attempt(to, async () => {
      const now = modified === undefined ? this.#putSync(content, to) : undefined;
      if (now !== undefined) return now;
      return this.#paths.inFolder(folder, { create: makeParents }, async (parent) => {
        const replaces = await refuseNonFile(parent.at(name), to, this.#paths.calls);
        if (modified !== undefined) {
          await this.#changes.utimes(content.diskPath, modified, modified);
          content.isRecorded &&= this.#staging.record(content.diskPath, content.record ?? new Uint8Array());
        }
        const options = { staged: content, sync: this.#sync, calls: this.#changes };
        const move = () => this.#staging.moveInto(parent, name, options);
        if (!replaces || this.#trashWriter === undefined) await move();
        else await this.#trashWriter.retainDuring({ parent, name, path: to }, { removes: false }, move);
        await this.#synced(parent);
        return statsOf(content, await this.#paths.calls.lstat(parent.at(name)));
      });
    });
  }

  /**
   * Puts a file in place on a local disk without waiting, where nothing is synced and nothing is kept of what it replaces. Undefined,
   * with nothing changed, if it takes a wait.
   */
  #putSync(content: DiskStagedFile, to: TreePath): DiskStats | undefined {
    if (this.#changes !== syncFileCalls || this.#trashWriter !== undefined) return undefined;
    const { folder, name } = splitPath(to);
    return this.#paths.local?.inFolder(folder, (parent) => {
      const isRenamed = attemptSync(() => {
        if (parent.lstat(name)?.isFile() === false) return false;
        renameSync(content.diskPath, parent.at(name));
        return true;
      });
      if (!isRenamed) return undefined;
      content.isRenamed = true;
      return statsOf(content, parent.lstat(name) ?? lstatSync(parent.at(name)));
    });
  }

  async makeFile(path: TreePath): Promise<DiskStats> {
    const options = { sync: this.#sync, calls: this.#changes };
    await using staged = await this.#attempt(path, () => this.#staging.stage(new Uint8Array(), options));
    return await this.put(staged, path, { makeParents: false });
  }

  async makeFolder(path: TreePath, { modified }: Times): Promise<boolean> {
    this.#paths.assertFits(path);
    const { folder, name } = splitPath(path);
    return this.#attempt(path, () =>
      this.#paths.inFolder(folder, { create: false }, async (parent) => {
        try {
          await this.#changes.mkdir(parent.at(name));
        } catch (error) {
          if (codeOf(error) === "EEXIST") return false;
          throw error;
        }
        if (modified !== undefined) await this.#changes.utimes(parent.at(name), modified, modified);
        await this.#synced(parent);
        return true;
      }),
    );
  }

  async restoreVersion(wanted: VersionName, to: TreePath): Promise<FileVersion["kind"]> {
    this.#paths.assertFits(to);
    return this.#history.restoreVersion(wanted, to, (folder) => this.#synced(folder));
  }

  async setTimes(entry: FileEntry, times: Times): Promise<void> {
    const { folder, name } = splitPath(entry.path);
    const accessed = times.accessed ?? new Date(entry.stats.accessedMs);
    const modified = times.modified ?? new Date(entry.stats.modifiedMs);
    await this.#attempt(entry.path, async () =>
      name === ""
        ? this.#changes.utimes(this.#paths.root, accessed, modified)
        : this.#paths.inFolder(folder, { create: false }, async (parent) => {
            const now = await statOrUndefined(parent.at(name), this.#paths.calls.lstat);
            if (now === undefined || now.isSymbolicLink()) throw notFound(entry.path);
            const record = this.#paths.local && storedRecord(parent.at(name), now);
            await this.#changes.utimes(parent.at(name), accessed, modified);
            if (record !== undefined) storeRecord(parent.at(name), record);
          }),
    );
  }

  async remove(entry: FileEntry): Promise<Removal> {
    return this.#remove(entry, this.#trashWriter);
  }

  async #remove(entry: FileEntry, trashWriter: TreeHistory["trashWriter"]): Promise<Removal> {
    const { path } = entry;
    const { folder, name } = splitPath(path);
    if (entry.kind === "file") return this.#removeFile(path, trashWriter);
    return this.#attempt(path, () =>
      this.#paths.inFolder(folder, { create: false }, async (parent) => {
        const removal = await removeFolder({ parent, name, path }, { staging: this.#staging, trashWriter });
        await this.#synced(parent);
        return removal;
      }),
    );
  }

  /** Folders that this leaves empty stay. A file that another program removed meanwhile is not a failure. */
  async #removeFile(path: TreePath, trashWriter: TreeHistory["trashWriter"]): Promise<Removal> {
    const { folder, name } = splitPath(path);
    try {
      return await this.#paths.inFolder(folder, { create: false }, async (parent) => {
        const unlink = async (version?: number) => {
          await this.#changes.unlink(parent.at(name));
          return version;
        };
        const version =
          trashWriter === undefined
            ? await unlink()
            : await trashWriter.retainDuring({ parent, name, path }, { removes: true }, unlink);
        await this.#synced(parent);
        return { failures: [], version };
      });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw toTreeFault(error, path);
      return { failures: [] };
    }
  }

  async move(entry: FileEntry, to: TreePath, { makeParents, signal }: MoveOptions): Promise<Failure[]> {
    this.#paths.assertFits(to);
    const source = splitPath(entry.path);
    const target = splitPath(to);
    // Reading the whole tree is needed only if its paths become longer.
    if (Buffer.byteLength(to) > Buffer.byteLength(entry.path))
      await refuseTooDeep(this.#paths, entry, [this.#paths.diskPath(to)]);
    try {
      return await this.#paths.inFolder(source.folder, { create: false }, (from) =>
        this.#paths.inFolder(target.folder, { create: makeParents }, async (parent) => {
          const failures = await replaceWith(
            from.at(source.name),
            { parent, name: target.name, path: to },
            { staging: this.#staging, trashWriter: this.#trashWriter },
          );
          await Promise.all([this.#synced(from), this.#synced(parent)]);
          return failures;
        }),
      );
    } catch (error) {
      if (!crossesDisks(error)) throw toTreeFault(error, entry.path);
    }
    const failures = await this.#copy(entry, to, { recursive: true, makeParents, whole: true, signal });
    if (failures.length > 0) return failures;
    // What was moved is not kept at the path that it had.
    return [...(await this.#remove(entry, undefined)).failures];
  }

  copy(entry: FileEntry, to: TreePath, options: CopyOptions): Promise<Failure[]> {
    return this.#copy(entry, to, { ...options, whole: false });
  }

  /** With `whole`, a copy from which something had to be left out is not put in place. */
  async #copy(
    entry: FileEntry,
    to: TreePath,
    { recursive, makeParents, whole, signal }: CopyOptions & { readonly whole: boolean },
  ): Promise<Failure[]> {
    const stop = AbortSignal.any([signal, this.#stopping]);
    this.#paths.assertFits(to);
    const { folder, name } = splitPath(to);
    return this.#attempt(to, () =>
      this.#paths.inFolder(folder, { create: makeParents }, async (parent) => {
        const staged = await this.#staging.allocateBeside(parent);
        try {
          if (recursive) await refuseTooDeep(this.#paths, entry, [this.#paths.diskPath(to), staged.path]);
          const options = { recursive, sync: this.#sync, signal: stop };
          const failures = await copyTree(this.reader, entry, { diskPath: staged.path, to, ...options });
          stop.throwIfAborted();
          if (whole && failures.length > 0) return failures;
          const replacing = { staging: this.#staging, trashWriter: this.#trashWriter };
          failures.push(...(await replaceWith(staged.path, { parent, name, path: to }, replacing)));
          await this.#synced(parent);
          return failures;
        } finally {
          await rm(staged.path, { recursive: true, force: true }).finally(() => staged.done());
        }
      }),
    );
  }

  async #synced(folder: Folder): Promise<void> {
    if (!this.#sync) return;
    const { dev, ino } = await folder.identity();
    await this.#folderSyncs.next(`${dev}:${ino}`, () => folder.sync());
  }

  async #attempt<T>(path: TreePath, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }
}

/** The stats of a file that was put in its place, with the record that it has there. */
function statsOf({ isRecorded, record }: DiskStagedFile, state: FileState): DiskStats {
  return new DiskStats(state, {
    storedHash: () => undefined,
    storedRecord: () => (isRecorded ? record : undefined),
  });
}

interface ReplaceOptions {
  readonly staging: Staging;
  /** Keeps what is replaced; undefined if it is deleted. */
  readonly trashWriter: TreeHistory["trashWriter"];
}

/**
 * replaceWith renames `source` over a name in a folder. A file replaces a file atomically; anything else is first renamed into
 * staging, or into the trash, and deleted afterwards in staging. If the deletion fails part-way, both are renamed back (entries
 * already deleted stay deleted) and the failures are returned.
 */
async function replaceWith(
  source: string,
  replaced: NameInFolder,
  { staging, trashWriter }: ReplaceOptions,
): Promise<Failure[]> {
  const { parent, name, path } = replaced;
  const target = parent.at(name);
  const [old, next] = [await statOrUndefined(target, lstat), await lstat(source)];
  if (old !== undefined && !old.isFile() && !old.isDirectory())
    throw new Fault(
      "InvalidInput",
      "what exists at this path is not a file or a folder; choose another path",
      {
        path,
      },
    );
  const same = old !== undefined && old.ino === next.ino && old.dev === next.dev;
  if (trashWriter !== undefined && old !== undefined && !same) {
    const rest = () => replaceWith(source, replaced, { staging, trashWriter: undefined });
    return old.isFile()
      ? trashWriter.retainDuring(replaced, { removes: false }, rest)
      : replaceFolder(replaced, { staging, trashWriter, rest });
  }
  if (old === undefined || same || (old.isFile() && next.isFile())) {
    await rename(source, target);
    // POSIX: renaming one name of a file to another of its names does nothing. On a case-insensitive disk the two may
    // be one name, but then the file has only one link.
    if (same && next.isFile() && next.nlink > 1) await rm(source, { force: true });
    return [];
  }
  const backup = await staging.allocateBeside(parent, { restoreTo: name });
  try {
    await rename(target, backup.path);
    try {
      await rename(source, target);
    } catch (error) {
      await rename(backup.path, target);
      throw error;
    }
    const failures = await removeTreeAt(dirname(backup.path), basename(backup.path), path);
    if (failures.length > 0) {
      await rename(target, source);
      await rename(backup.path, target);
    }
    return failures;
  } finally {
    await backup.done();
  }
}

/** Moves the folder at a name into the trash and runs `rest`, which puts something else there. If that throws, it is moved back. */
async function replaceFolder(
  replaced: NameInFolder,
  {
    staging,
    trashWriter,
    rest,
  }: {
    staging: Staging;
    trashWriter: NonNullable<TreeHistory["trashWriter"]>;
    rest: () => Promise<Failure[]>;
  },
): Promise<Failure[]> {
  const { parent, name } = replaced;
  const { note, done } = await staging.noteReplaced(parent, name);
  try {
    const { moved, failures } = await trashWriter.retainFolder(replaced, {
      removes: false,
      beforeMove: note,
    });
    if (failures.length > 0) return failures;
    try {
      return await rest();
    } catch (error) {
      if (moved !== undefined) await rename(moved.diskPath, parent.at(name));
      throw error;
    }
  } finally {
    await done();
  }
}

/**
 * refuseNonFile returns whether a file exists, and throws InvalidInput for anything else. Rename would replace a link, and its
 * errors for a folder name no cause.
 */
async function refuseNonFile(diskPath: string, path: TreePath, { lstat }: FileCalls): Promise<boolean> {
  try {
    const stats = await lstat(diskPath);
    if (stats.isDirectory()) throw folderExists(path);
    if (!stats.isFile())
      throw new Fault("InvalidInput", "what exists at this path is not a regular file; choose another path", {
        path,
      });
    return true;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return false;
  }
}

interface RemoveFolderOptions {
  readonly staging: Staging;
  /** Keeps the folder; undefined if it is deleted for good. */
  readonly trashWriter: TreeHistory["trashWriter"];
}

/**
 * removeFolder renames a folder into the trash, or into staging where it is deleted, so that it is gone at once for everybody.
 * With failures it is renamed back.
 */
async function removeFolder(
  removed: NameInFolder,
  { staging, trashWriter }: RemoveFolderOptions,
): Promise<Removal> {
  const { parent, name, path } = removed;
  let version: number | undefined;
  if (trashWriter !== undefined) {
    const kept = await trashWriter.retainFolder(removed, { removes: true });
    if (kept.moved !== undefined || kept.failures.length > 0) return kept;
    ({ version } = kept);
  }
  const staged = await staging.allocateBeside(parent);
  try {
    await rename(parent.at(name), staged.path);
  } catch (error) {
    await staged.done();
    // Another file system is mounted there: delete it in place.
    if (!crossesDisks(error)) throw error;
    return { failures: await removeTree(parent, name, path), version };
  }
  const failures = await removeTreeAt(dirname(staged.path), basename(staged.path), path);
  if (failures.length > 0) await rename(staged.path, parent.at(name));
  await staged.done();
  return { failures, version };
}
