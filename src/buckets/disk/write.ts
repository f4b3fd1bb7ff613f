import type { Stats } from "node:fs";
import { lstat, mkdir, open, rename, rm, utimes } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import type { Folder } from "../../base/folder.ts";
import { splitPath, type TreePath } from "../path.ts";
import { copyTree } from "./copy-tree.ts";
import { toTreeFault } from "./disk-faults.ts";
import { refuseTooDeep } from "./longest-path.ts";
import { isFolder, type Tree, type TreeEntry } from "./read.ts";
import { dismantle, dismantleAt, type Failure } from "./remove-tree.ts";
import { type Ground, notFound } from "./resolve.ts";
import type { Staging } from "./staging.ts";
import { lookAt, moveInto, refuseNonFile, writeAll } from "./stat.ts";

/** Content that is on the disk but not in the bucket yet. Gone at the end of its scope unless it was put in place. */
export interface Staged extends AsyncDisposable {
  readonly diskPath: string;
  readonly size: number;
}

export interface Times {
  readonly modified?: Date | undefined;
  readonly accessed?: Date | undefined;
}

export interface ChangeOptions {
  readonly staging: Staging;
  /** An upload is on the disk before it is answered. */
  readonly sync: boolean;
  /** Aborts when the server stops: copies end, and what they made so far is removed. */
  readonly stopping: AbortSignal;
}

/** What alters a bucket's folder. Everything is made beside and renamed into place, and what is replaced goes last. */
export class Changes {
  readonly #staging: Staging;
  readonly #sync: boolean;
  readonly #stopping: AbortSignal;

  constructor(
    private readonly tree: Tree,
    private readonly ground: Ground,
    { staging, sync, stopping }: ChangeOptions,
  ) {
    this.#staging = staging;
    this.#sync = sync;
    this.#stopping = stopping;
  }

  /** Takes content in, whole or piece by piece, and has it on the disk. */
  async stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<Staged> {
    return this.#attempt(path, async () => {
      const diskPath = await this.#staging.here();
      try {
        const size = await this.#fill(diskPath, content);
        return { diskPath, size, [Symbol.asyncDispose]: () => rm(diskPath, { force: true }) };
      } catch (error) {
        await rm(diskPath, { force: true });
        throw error;
      }
    });
  }

  /** Puts staged content in place: a reader, or the next start after a crash, sees the old file or the new one. */
  async place(
    staged: Staged,
    path: TreePath,
    { makeParents, modified }: { readonly makeParents: boolean } & Times,
  ): Promise<Stats> {
    const { folder, name } = splitPath(await this.ground.target(path));
    return this.#attempt(path, () =>
      this.ground.inFolder(folder, makeParents, async (parent) => {
        await refuseNonFile(parent.at(name), path);
        if (modified !== undefined) await utimes(staged.diskPath, modified, modified);
        await moveInto(staged.diskPath, parent, name, this.#staging, this.#sync);
        await this.#synced(parent);
        return lstat(parent.at(name));
      }),
    );
  }

  /** A new folder in one that exists; false when something stands there. */
  async makeFolder(path: TreePath, { modified }: Times): Promise<boolean> {
    const { folder, name } = splitPath(await this.ground.target(path));
    return this.#attempt(path, () =>
      this.ground.inFolder(folder, false, async (parent) => {
        try {
          await mkdir(parent.at(name));
        } catch (error) {
          if (codeOf(error) === "EEXIST") return false;
          throw error;
        }
        if (modified !== undefined) await utimes(parent.at(name), modified, modified);
        await this.#synced(parent);
        return true;
      }),
    );
  }

  async setTimes(entry: TreeEntry, { modified, accessed }: Times): Promise<void> {
    const { folder, name } = splitPath(entry.path);
    const { atime, mtime } = entry.stats;
    await this.#attempt(entry.path, () =>
      name === ""
        ? utimes(this.ground.root, accessed ?? atime, modified ?? mtime)
        : this.ground.inFolder(folder, false, async (parent) => {
            const now = await lookAt(parent.at(name), lstat);
            if (now === undefined || now.isSymbolicLink()) throw notFound(entry.path);
            await utimes(parent.at(name), accessed ?? atime, modified ?? mtime);
          }),
    );
  }

  /** Removes a file; false when there was none. Folders that this leaves empty stay. */
  async removeFile(path: TreePath): Promise<boolean> {
    const entry = await this.tree.find(path);
    if (entry === undefined) return false;
    if (entry.kind === "folder") throw isFolder(path);
    const { folder, name } = splitPath(entry.path);
    try {
      await this.ground.inFolder(folder, false, async (parent) => {
        await rm(parent.at(name));
        await this.#synced(parent);
      });
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw toTreeFault(error, path);
    }
  }

  /** Removes a folder and all it holds, at once for everybody else; what cannot be removed is put back and told. */
  async removeFolder(path: TreePath): Promise<Failure[]> {
    const { folder, name } = splitPath(path);
    return this.#attempt(path, () =>
      this.ground.inFolder(folder, false, async (parent) => {
        const spot = await this.#staging.near(parent);
        try {
          await rename(parent.at(name), spot.path);
        } catch (error) {
          await spot.leave();
          // Another file system is mounted there: piece by piece, in place.
          if (!crossesDisks(error)) throw error;
          return await dismantle(parent, name, path);
        }
        const failures = await dismantleAt(dirname(spot.path), basename(spot.path), path);
        if (failures.length > 0) await rename(spot.path, parent.at(name));
        await spot.leave();
        await this.#synced(parent);
        return failures;
      }),
    );
  }

  /** Moves a file or folder; what stands at `to` is replaced as a whole, and back in place if the move fails. */
  async move(
    entry: TreeEntry,
    to: TreePath,
    { makeParents, signal }: { readonly makeParents: boolean; readonly signal: AbortSignal },
  ): Promise<Failure[]> {
    const source = splitPath(entry.path);
    const target = splitPath(await this.ground.target(to));
    // A tree whose paths become no longer need not be looked at.
    if (Buffer.byteLength(to) > Buffer.byteLength(entry.path))
      await refuseTooDeep(this.ground, entry, [this.ground.diskPath(to)]);
    try {
      return await this.ground.inFolder(source.folder, false, (fromFolder) =>
        this.ground.inFolder(target.folder, makeParents, async (toFolder) => {
          const failures = await this.#swapIn(fromFolder.at(source.name), toFolder, target.name, to);
          await Promise.all([this.#synced(fromFolder), this.#synced(toFolder)]);
          return failures;
        }),
      );
    } catch (error) {
      if (!crossesDisks(error)) throw toTreeFault(error, entry.path);
    }
    const failures = await this.copy(entry, to, { deep: true, whole: true, signal });
    if (failures.length > 0) return failures;
    if (entry.kind === "folder") return this.removeFolder(entry.path);
    await this.removeFile(entry.path);
    return [];
  }

  /**
   * Copies a file, or a folder with what it holds if `deep`. What of it could not be copied is told, and the rest is in
   * place unless it had to be `whole`. When `signal` aborts, nothing is changed and nothing stays in the staging folder.
   */
  async copy(
    entry: TreeEntry,
    to: TreePath,
    {
      deep,
      whole,
      signal,
    }: { readonly deep: boolean; readonly whole: boolean; readonly signal: AbortSignal },
  ): Promise<Failure[]> {
    const stop = AbortSignal.any([signal, this.#stopping]);
    const target = splitPath(await this.ground.target(to));
    return this.#attempt(to, () =>
      this.ground.inFolder(target.folder, false, async (toFolder) => {
        const spot = await this.#staging.near(toFolder);
        try {
          if (deep) await refuseTooDeep(this.ground, entry, [this.ground.diskPath(to), spot.path]);
          const options = { deep, sync: this.#sync, signal: stop };
          const failures = await copyTree(this.tree, entry, spot.path, to, options);
          stop.throwIfAborted();
          if (whole && failures.length > 0) return failures;
          failures.push(...(await this.#swapIn(spot.path, toFolder, target.name, to)));
          await this.#synced(toFolder);
          return failures;
        } finally {
          await rm(spot.path, { recursive: true, force: true }).finally(() => spot.leave());
        }
      }),
    );
  }

  async #fill(diskPath: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<number> {
    const file = await open(diskPath, "wx", 0o644);
    try {
      let size = 0;
      for await (const chunk of content instanceof Uint8Array ? [content] : content) {
        await writeAll(file, chunk);
        size += chunk.length;
      }
      if (this.#sync) await file.datasync();
      return size;
    } finally {
      await file.close();
    }
  }

  /**
   * Renames something into a folder. A file replaces a file in one step; anything else steps aside first. Where that
   * cannot be removed, source and target are as they were, but for what could be, and the rest is told.
   */
  async #swapIn(source: string, parent: Folder, name: string, to: TreePath): Promise<Failure[]> {
    const target = parent.at(name);
    const [old, now] = [await lookAt(target, lstat), await lstat(source)];
    if (old !== undefined && !old.isFile() && !old.isDirectory())
      throw new Fault("InvalidInput", "something that is neither file nor folder stands at this path", {
        path: to,
      });
    const same = old !== undefined && old.ino === now.ino && old.dev === now.dev;
    if (old === undefined || same || (old.isFile() && now.isFile())) {
      await rename(source, target);
      // POSIX: renaming one name of a file to another of its names does nothing. On a disk that does not tell cases
      // apart the two may be one name, but then there is only one.
      if (same && now.isFile() && now.nlink > 1) await rm(source, { force: true });
      return [];
    }
    const aside = await this.#staging.near(parent, name);
    try {
      await rename(target, aside.path);
      try {
        await rename(source, target);
      } catch (error) {
        await rename(aside.path, target);
        throw error;
      }
      const failures = await dismantleAt(dirname(aside.path), basename(aside.path), to);
      if (failures.length > 0) {
        await rename(target, source);
        await rename(aside.path, target);
      }
      return failures;
    } finally {
      await aside.leave();
    }
  }

  async #synced(folder: Folder): Promise<void> {
    if (this.#sync) await folder.sync();
  }

  async #attempt<T>(path: TreePath, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }
}

/** What cannot be renamed because another file system begins there. */
function crossesDisks(error: unknown): boolean {
  return codeOf(error) === "EXDEV" || codeOf(error) === "EBUSY";
}
