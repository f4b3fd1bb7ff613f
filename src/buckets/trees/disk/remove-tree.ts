import type { Stats } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeOf, Fault } from "../../../base/fault.ts";
import { Folder, type FolderIdentity } from "../../../base/local-fs/folder.ts";
import { isAbsence, statOrUndefined } from "../../../base/local-fs/stat.ts";
import { listedPath, stagedPrefix, type TreePath } from "../../path.ts";
import type { Failure, FileSizes } from "../../ports.ts";
import { toTreeFault } from "./disk-faults.ts";

/** Level is a folder whose content is being removed. */
interface Level {
  /** Its name in the folder above it. */
  readonly name: string;
  readonly path: TreePath;
  readonly above: FolderIdentity;
  /** Names in it that are still to be removed, the next one last. */
  readonly left: string[];
  isEmpty: boolean;
}

/**
 * removeTree removes a file, or a folder with its content, and returns each entry that could not be removed. Links are removed, not
 * followed. Every step is relative to an open folder, and only one is open at a time, so a tree may be deeper than the longest path of
 * the disk and than the limit of open files. `path` is where failures are reported.
 */
export async function removeTree(parent: Folder, name: string, path: TreePath): Promise<Failure[]> {
  const removal = new Removal(parent);
  try {
    await removal.run(name, path);
  } finally {
    await removal.close();
  }
  return removal.failures;
}

class Removal {
  readonly failures: Failure[] = [];
  readonly #levels: Level[] = [];
  readonly #parent: Folder;
  /** The open folder: `#parent`, or the folder of the last level. */
  #folder: Folder;

  constructor(parent: Folder) {
    this.#parent = parent;
    this.#folder = parent;
  }

  async run(first: string, firstPath: TreePath): Promise<void> {
    await this.#attempt(firstPath, () => this.#removeOrDescend(first, firstPath));
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      const name = level.left.pop();
      if (name === undefined) await this.#ascend();
      else {
        // A name that no path can contain is reported as its folder.
        const path = listedPath(level.path, name) ?? level.path;
        await this.#attempt(path, () => this.#removeOrDescend(name, path));
      }
    }
  }

  async close(): Promise<void> {
    if (this.#folder !== this.#parent) await this.#folder.close();
  }

  /** Removes a file or an empty folder; descends into any other folder. */
  async #removeOrDescend(name: string, path: TreePath): Promise<void> {
    const here = this.#folder.at(name);
    if (!(await lstat(here)).isDirectory()) return rm(here);
    const child = await this.#folder.openChild(name);
    let entered = false;
    try {
      const left = (await readdir(child.at(""))).sort().reverse();
      if (left[0] !== undefined) {
        // Without search permission on the folder its entries cannot be removed, and `..` in it cannot be opened.
        await statOrUndefined(child.at(left[0]), lstat);
        this.#levels.push({ name, path, left, above: await this.#folder.identity(), isEmpty: true });
        entered = true;
      }
    } finally {
      if (!entered) await child.close();
    }
    if (!entered) return rmdir(here);
    await this.close();
    this.#folder = child;
  }

  /** Ascends, and removes the folder that was left unless something remains in it. */
  async #ascend(): Promise<void> {
    const level = this.#levels.pop();
    if (level === undefined) return;
    const above = this.#levels.length === 0 ? this.#parent : await this.#openAbove(level);
    if (above === undefined) return;
    await this.#folder.close();
    this.#folder = above;
    if (level.isEmpty) await this.#attempt(level.path, () => rmdir(above.at(level.name)));
    else this.#markOccupied();
  }

  /** Opens the folder above a level. If another program moved the level away, that is a failure, and the removal ends. */
  async #openAbove({ path, above }: Level): Promise<Folder | undefined> {
    try {
      return await this.#folder.openParent(above);
    } catch (error) {
      const fault = toTreeFault(error, path);
      if (!(fault instanceof Fault)) throw error;
      this.failures.push({ path, fault });
      this.#levels.length = 0;
      return undefined;
    }
  }

  async #attempt(path: TreePath, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const fault = toTreeFault(error, path);
      if (!(fault instanceof Fault)) throw error;
      // Another program has removed it.
      if (fault.kind === "NotFound") return;
      this.failures.push({ path, fault });
      this.#markOccupied();
    }
  }

  #markOccupied(): void {
    const level = this.#levels.at(-1);
    if (level !== undefined) level.isEmpty = false;
  }
}

/** removeTreeAt is `removeTree` in a folder given by its disk path. */
export async function removeTreeAt(folder: string, name: string, path: TreePath): Promise<Failure[]> {
  const held = await Folder.open(folder);
  try {
    return await removeTree(held, name, path);
  } finally {
    await held.close();
  }
}

/** Names that are read in one batch. */
const batchNames = 256;

/**
 * fileSizes yields the sizes of all files below a folder, in batches and in no order, for statistics. It follows no link and
 * leaves out what cannot be read. Every call of the disk is made by a thread, one at a time: a disk that has to be waited for delays
 * nobody else. Throws if the folder itself cannot be read.
 */
export async function* fileSizes(root: string): AsyncGenerator<FileSizes> {
  const folders: string[] = [];
  for (let folder: string | undefined = root; folder !== undefined; folder = folders.pop()) {
    const names = folder === root ? await readdir(root) : await unlessUnreadable(readdir(folder));
    for (let at = 0; names !== undefined && at < names.length; at += batchNames) {
      const sizes: number[] = [];
      let newestMs = 0;
      for (const name of names.slice(at, at + batchNames)) {
        const stats: Stats | undefined = await statsOf(join(folder, name));
        if (stats?.isFile()) {
          sizes.push(stats.size);
          newestMs = Math.max(newestMs, stats.mtimeMs);
        }
        if (stats?.isDirectory()) folders.push(join(folder, name));
      }
      yield { sizes, newestMs };
    }
  }
}

/** Temporary files of the server are none of the bucket's. */
async function statsOf(path: string): Promise<Stats | undefined> {
  return basename(path).startsWith(stagedPrefix) ? undefined : unlessUnreadable(lstat(path));
}

/** Undefined for what was removed meanwhile, or must not be read. */
async function unlessUnreadable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isAbsence(error) || ["EACCES", "EPERM", "EIO"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}
