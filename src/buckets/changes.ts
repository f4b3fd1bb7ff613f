import { constants, type Stats } from "node:fs";
import { copyFile, lstat, mkdir, open, readdir, rename, rm, rmdir, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeOf, Fault } from "../base/fault.ts";
import { Folder, isInside } from "../base/folder.ts";
import { randomText } from "../base/random.ts";
import { lookAt, moveInto, refuseNonFile, writeAll } from "./disk.ts";
import { isDiskFull, toTreeFault } from "./disk-faults.ts";
import { type Ground, notFound } from "./ground.ts";
import { childPath, splitPath, type TreePath } from "./path.ts";
import { isFolder, type Tree, type TreeEntry } from "./tree.ts";

/** Content that is on the disk but not in the bucket yet. Gone at the end of its scope unless it was put in place. */
export interface Staged extends AsyncDisposable {
  readonly diskPath: string;
  readonly size: number;
}

/** What could not be done to one of many. */
export interface Failure {
  readonly path: TreePath;
  readonly fault: Fault;
}

export interface Times {
  readonly modified?: Date | undefined;
  readonly accessed?: Date | undefined;
}

export interface ChangeOptions {
  /** Where uploads grow before they are moved into place; on the same file system. */
  readonly staging: string;
  /** An upload is on the disk before it is answered. */
  readonly sync: boolean;
}

/** How many files of a folder are copied at a time. */
const copiesAtOnce = 8;

/** What alters a bucket's folder. Everything is made beside and renamed into place, and what is replaced goes last. */
export class Changes {
  constructor(
    private readonly tree: Tree,
    private readonly ground: Ground,
    private readonly options: ChangeOptions,
  ) {}

  /** Takes content in, whole or piece by piece, and has it on the disk. */
  async stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<Staged> {
    const diskPath = await this.#besideAll();
    try {
      const size = await this.#fill(diskPath, content);
      return { diskPath, size, [Symbol.asyncDispose]: () => rm(diskPath, { force: true }) };
    } catch (error) {
      await rm(diskPath, { force: true });
      throw toTreeFault(error, path);
    }
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
        await moveInto(staged.diskPath, parent, name, this.options.sync);
        if (this.options.sync) await parent.sync();
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
        if (this.options.sync) await parent.sync();
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
        if (this.options.sync) await parent.sync();
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
        const aside = await this.#besideAll();
        try {
          await rename(parent.at(name), aside);
        } catch (error) {
          // Another file system is mounted there: piece by piece, in place.
          if (codeOf(error) !== "EXDEV" && codeOf(error) !== "EBUSY") throw error;
          return await dismantle(parent, name, path);
        }
        const failures = await this.#dismantleAside(aside, path);
        if (failures.length > 0) await rename(aside, parent.at(name));
        if (this.options.sync) await parent.sync();
        return failures;
      }),
    );
  }

  /** Moves a file or folder; what stands at `to` is replaced as a whole, and back in place if the move fails. */
  async move(entry: TreeEntry, to: TreePath, makeParents: boolean): Promise<Failure[]> {
    const source = splitPath(entry.path);
    const target = splitPath(await this.ground.target(to));
    try {
      await this.ground.inFolder(source.folder, false, (fromFolder) =>
        this.ground.inFolder(target.folder, makeParents, async (toFolder) => {
          await this.#swapIn(fromFolder.at(source.name), toFolder, target.name, to);
          if (this.options.sync) await Promise.all([fromFolder.sync(), toFolder.sync()]);
        }),
      );
      return [];
    } catch (error) {
      if (codeOf(error) !== "EXDEV") throw toTreeFault(error, entry.path);
    }
    const failures = await this.copy(entry, to, true);
    if (failures.length > 0) return failures;
    if (entry.kind === "folder") return this.removeFolder(entry.path);
    await this.removeFile(entry.path);
    return [];
  }

  /** Copies a file, or a folder with what it holds if `deep`. What of it could not be copied is told; the rest is in place. */
  async copy(entry: TreeEntry, to: TreePath, deep: boolean): Promise<Failure[]> {
    const target = splitPath(await this.ground.target(to));
    const staged = await this.#besideAll();
    try {
      return await this.#attempt(to, async () => {
        const failures = await this.#copyTo(staged, entry, to, deep);
        await this.ground.inFolder(target.folder, false, async (toFolder) => {
          await this.#swapIn(staged, toFolder, target.name, to);
          if (this.options.sync) await toFolder.sync();
        });
        return failures;
      });
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  }

  /** A disk path that nothing has, in the staging folder. */
  async #besideAll(): Promise<string> {
    await mkdir(this.options.staging, { recursive: true });
    return join(this.options.staging, randomText(16));
  }

  async #fill(diskPath: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<number> {
    const file = await open(diskPath, "wx", 0o644);
    try {
      let size = 0;
      for await (const chunk of content instanceof Uint8Array ? [content] : content) {
        await writeAll(file, chunk);
        size += chunk.length;
      }
      if (this.options.sync) await file.datasync();
      return size;
    } finally {
      await file.close();
    }
  }

  /** Renames something into a folder. A file replaces a file in one step; anything else steps aside first. */
  async #swapIn(source: string, parent: Folder, name: string, to: TreePath): Promise<void> {
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
      return;
    }
    const aside = await this.#besideAll();
    await rename(target, aside);
    try {
      await rename(source, target);
    } catch (error) {
      await rename(aside, target);
      throw error;
    }
    await this.#dismantleAside(aside, to);
  }

  async #copyTo(staged: string, entry: TreeEntry, to: TreePath, deep: boolean): Promise<Failure[]> {
    if (entry.kind === "file") {
      await this.#copyFile(entry.path, staged);
      return [];
    }
    await mkdir(staged);
    const failures: Failure[] = [];
    const running = new Set<Promise<void>>();
    const failed = (path: TreePath, error: unknown) => {
      const fault = toTreeFault(error, path);
      // Where the disk is full, nothing that follows can succeed either.
      if (!(fault instanceof Fault) || isDiskFull(fault)) throw fault;
      failures.push({ path, fault });
    };
    let broken: { readonly error: unknown } | undefined;
    if (deep) {
      for await (const { path, kind } of this.tree.walk(entry.path)) {
        if (broken !== undefined) break;
        const rest = entry.path === "" ? path : path.slice(entry.path.length + 1);
        const [copy, copied] = [join(staged, rest), childPath(to, rest)];
        if (kind === "folder") {
          await mkdir(copy);
          continue;
        }
        const one: Promise<void> = this.#copyFile(path, copy)
          .catch((error: unknown) => failed(copied, error))
          .catch((error: unknown) => {
            broken = { error };
          })
          .finally(() => running.delete(one));
        running.add(one);
        if (running.size >= copiesAtOnce) await Promise.race(running);
      }
      await Promise.all(running);
    }
    if (broken !== undefined) throw broken.error;
    return failures;
  }

  async #copyFile(from: TreePath, diskPath: string): Promise<void> {
    await using file = await this.tree.open(from);
    await copyFile(file.heldPath, diskPath, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    const copy = await open(diskPath, "r");
    try {
      await copy.utimes(file.stats.atime, file.stats.mtime);
      if (this.options.sync) await copy.datasync();
    } finally {
      await copy.close();
    }
  }

  async #dismantleAside(aside: string, path: TreePath): Promise<Failure[]> {
    const staging = await Folder.open(this.options.staging);
    try {
      return await dismantle(staging, basename(aside), path);
    } finally {
      await staging.close();
    }
  }

  async #attempt<T>(path: TreePath, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }
}

/** Removes a file or folder on the disk piece by piece, links as links, so that each piece that stays can be told. */
async function dismantle(parent: Folder, name: string, path: TreePath): Promise<Failure[]> {
  try {
    if (!(await lstat(parent.at(name))).isDirectory()) {
      await rm(parent.at(name));
      return [];
    }
    const failures: Failure[] = [];
    const folder = await Folder.open(parent.at(name));
    try {
      if (!isInside(folder.realPath, parent.realPath)) throw notFound(path);
      for (const child of await readdir(folder.at("")))
        failures.push(...(await dismantle(folder, child, childPath(path, child))));
    } finally {
      await folder.close();
    }
    if (failures.length === 0) await rmdir(parent.at(name));
    return failures;
  } catch (error) {
    const fault = toTreeFault(error, path);
    if (!(fault instanceof Fault)) throw error;
    return fault.kind === "NotFound" ? [] : [{ path, fault }];
  }
}
