import { rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { asyncFileCalls, type FileCalls } from "../../base/file-calls.ts";
import type { Folder } from "../../base/folder.ts";
import { SharedSync } from "../../base/shared-sync.ts";
import {
  type CopyOptions,
  type Failure,
  type FileEntry,
  keepsNoVersions,
  type MoveOptions,
  notFound,
  type PlaceOptions,
  type StagedFile,
  type Times,
  type WriteTransaction,
} from "../file-store.ts";
import type { Metadata } from "../metadata/metadata.ts";
import { splitPath, type TreePath } from "../path.ts";
import { writeAll } from "./copy-file.ts";
import { copyTree } from "./copy-tree.ts";
import { toTreeFault } from "./disk-faults.ts";
import { DiskStats } from "./entry.ts";
import { refuseTooDeep } from "./longest-path.ts";
import type { DiskReader } from "./read.ts";
import { removeTree, removeTreeAt } from "./remove-tree.ts";
import { replaceWith } from "./replace-with.ts";
import type { PathResolver } from "./resolve.ts";
import { DiskStagedFile, type Staging } from "./staging.ts";
import { statOrUndefined } from "./stat.ts";

export interface DiskWriterOptions {
  readonly metadata: Metadata;
  readonly staging: Staging;
  /** Whether a change is on the disk, and not only in its cache, before it is answered. */
  readonly sync: boolean;
  /** Aborts when the server stops: copies end, and what they made so far is removed. */
  readonly stopping: AbortSignal;
}

/** DiskWriter changes a bucket's folder. Everything is created in staging and renamed into place; what it replaces is deleted last. */
export class DiskWriter implements WriteTransaction {
  readonly reader: DiskReader;
  readonly metadata: Metadata;
  readonly #paths: PathResolver;
  readonly #staging: Staging;
  readonly #sync: boolean;
  readonly #stopping: AbortSignal;
  /** For calls that change names and times: beside syncs they may have to wait until the file system has written its journal. */
  readonly #changes: FileCalls;
  readonly #folderSyncs = new SharedSync();

  constructor(
    reader: DiskReader,
    paths: PathResolver,
    { metadata, staging, sync, stopping }: DiskWriterOptions,
  ) {
    this.reader = reader;
    this.metadata = metadata;
    this.#paths = paths;
    this.#staging = staging;
    this.#sync = sync;
    this.#changes = sync ? asyncFileCalls : paths.calls;
    this.#stopping = stopping;
  }

  /** stage implements `FileStore.stage`. */
  async stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<StagedFile> {
    return this.#attempt(path, async () => {
      const diskPath = await this.#staging.allocate();
      try {
        return new DiskStagedFile(diskPath, await this.#fill(diskPath, content));
      } catch (error) {
        await rm(diskPath, { force: true });
        throw error;
      }
    });
  }

  async place(staged: StagedFile, to: TreePath, { makeParents, modified }: PlaceOptions): Promise<DiskStats> {
    this.#paths.assertFits(to);
    const content = DiskStagedFile.from(staged);
    const { folder, name } = splitPath(to);
    return this.#attempt(to, () =>
      this.#paths.inFolder(folder, { create: makeParents }, async (parent) => {
        await refuseNonFile(parent.at(name), to, this.#paths.calls);
        if (modified !== undefined) await this.#changes.utimes(content.diskPath, modified, modified);
        await this.#staging.moveInto(parent, name, {
          staged: content,
          sync: this.#sync,
          calls: this.#changes,
        });
        await this.#synced(parent);
        return new DiskStats(await this.#paths.calls.lstat(parent.at(name)));
      }),
    );
  }

  async makeFile(path: TreePath): Promise<DiskStats> {
    await using staged = await this.stage(new Uint8Array(), path);
    return await this.place(staged, path, { makeParents: false });
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

  async restore(): Promise<never> {
    throw keepsNoVersions();
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
            await this.#changes.utimes(parent.at(name), accessed, modified);
          }),
    );
  }

  async remove(entry: FileEntry): Promise<Failure[]> {
    return entry.kind === "folder" ? this.#removeFolder(entry.path) : this.#removeFile(entry.path);
  }

  /** Folders that this leaves empty stay. A file that another program removed meanwhile is no failure. */
  async #removeFile(path: TreePath): Promise<Failure[]> {
    const { folder, name } = splitPath(path);
    try {
      await this.#paths.inFolder(folder, { create: false }, async (parent) => {
        await this.#changes.unlink(parent.at(name));
        await this.#synced(parent);
      });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw toTreeFault(error, path);
    }
    return [];
  }

  /** Renames the folder into staging, so that it is gone at once for everybody, and deletes it there. With failures it is renamed back. */
  async #removeFolder(path: TreePath): Promise<Failure[]> {
    const { folder, name } = splitPath(path);
    return this.#attempt(path, () =>
      this.#paths.inFolder(folder, { create: false }, async (parent) => {
        const staged = await this.#staging.allocateBeside(parent);
        try {
          await rename(parent.at(name), staged.path);
        } catch (error) {
          await staged.done();
          // Another file system is mounted there: delete it in place.
          if (!crossesDisks(error)) throw error;
          return await removeTree(parent, name, path);
        }
        const failures = await removeTreeAt(dirname(staged.path), basename(staged.path), path);
        if (failures.length > 0) await rename(staged.path, parent.at(name));
        await staged.done();
        await this.#synced(parent);
        return failures;
      }),
    );
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
            this.#staging,
          );
          await Promise.all([this.#synced(from), this.#synced(parent)]);
          return failures;
        }),
      );
    } catch (error) {
      if (!crossesDisks(error)) throw toTreeFault(error, entry.path);
    }
    const failures = await this.#copy(entry, to, { recursive: true, whole: true, signal });
    return failures.length > 0 ? failures : this.remove(entry);
  }

  copy(entry: FileEntry, to: TreePath, options: CopyOptions): Promise<Failure[]> {
    return this.#copy(entry, to, { ...options, whole: false });
  }

  /** With `whole`, a copy from which something had to be left out is not put in place. */
  async #copy(
    entry: FileEntry,
    to: TreePath,
    { recursive, whole, signal }: CopyOptions & { readonly whole: boolean },
  ): Promise<Failure[]> {
    const stop = AbortSignal.any([signal, this.#stopping]);
    this.#paths.assertFits(to);
    const { folder, name } = splitPath(to);
    return this.#attempt(to, () =>
      this.#paths.inFolder(folder, { create: false }, async (parent) => {
        const staged = await this.#staging.allocateBeside(parent);
        try {
          if (recursive) await refuseTooDeep(this.#paths, entry, [this.#paths.diskPath(to), staged.path]);
          const options = { recursive, sync: this.#sync, signal: stop };
          const failures = await copyTree(this.reader, entry, { diskPath: staged.path, to, ...options });
          stop.throwIfAborted();
          if (whole && failures.length > 0) return failures;
          failures.push(...(await replaceWith(staged.path, { parent, name, path: to }, this.#staging)));
          await this.#synced(parent);
          return failures;
        } finally {
          await rm(staged.path, { recursive: true, force: true }).finally(() => staged.done());
        }
      }),
    );
  }

  async #fill(diskPath: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<number> {
    // One job for a thread of the pool, where a descriptor would take one for each of its calls.
    if (content instanceof Uint8Array) {
      await writeFile(diskPath, content, { flag: "wx", mode: 0o644, flush: this.#sync });
      return content.length;
    }
    const file = await this.#changes.open(diskPath, "wx", 0o644);
    try {
      let size = 0;
      for await (const chunk of content) {
        await writeAll(file, chunk);
        size += chunk.length;
      }
      if (this.#sync) await file.datasync();
      return size;
    } finally {
      await file.close();
    }
  }

  async #synced(folder: Folder): Promise<void> {
    if (!this.#sync) return;
    const { dev, ino } = await folder.identity();
    await this.#folderSyncs.run(`${dev}:${ino}`, () => folder.sync());
  }

  async #attempt<T>(path: TreePath, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }
}

/** Rename would replace a link, and its errors for a folder name no cause. */
async function refuseNonFile(diskPath: string, path: TreePath, { lstat }: FileCalls): Promise<void> {
  try {
    const stats = await lstat(diskPath);
    if (stats.isDirectory())
      throw new Fault("InvalidInput", "a folder exists at this path; choose another", { path });
    if (!stats.isFile())
      throw new Fault("InvalidInput", "what exists at this path is not a regular file; choose another path", {
        path,
      });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** crossesDisks is whether a rename failed because source and target are on different file systems, or one is a mount point. */
function crossesDisks(error: unknown): boolean {
  return codeOf(error) === "EXDEV" || codeOf(error) === "EBUSY";
}
