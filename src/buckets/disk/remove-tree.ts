import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { Fault } from "../../base/fault.ts";
import { Folder, type FolderIdentity } from "../../base/folder.ts";
import { childPath, type TreePath } from "../path.ts";
import { toTreeFault } from "./disk-faults.ts";
import { lookAt } from "./stat.ts";

/** What could not be done to one of many. */
export interface Failure {
  readonly path: TreePath;
  readonly fault: Fault;
}

/** A folder on the way down, whose content is being removed. */
interface Level {
  /** In the folder above it. */
  readonly name: string;
  readonly path: TreePath;
  readonly above: FolderIdentity;
  /** Names in it that are still to be removed, the next one last. */
  readonly left: string[];
  isEmpty: boolean;
}

/**
 * Removes a file or folder on the disk piece by piece, links as links, so that each piece that stays can be told. Every step is relative to
 * a folder that is held open, and only one is held open at a time, so a tree may be deeper than the longest path of the disk and than the
 * number of files that may be open.
 */
export async function dismantle(parent: Folder, name: string, path: TreePath): Promise<Failure[]> {
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
  /** Where the removal stands: `parent`, or the folder of the last level. */
  #folder: Folder;

  constructor(private readonly parent: Folder) {
    this.#folder = parent;
  }

  async run(first: string, firstPath: TreePath): Promise<void> {
    await this.#attempt(firstPath, () => this.#take(first, firstPath));
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      const name = level.left.pop();
      if (name === undefined) await this.#leave();
      else {
        const path = childPath(level.path, name);
        await this.#attempt(path, () => this.#take(name, path));
      }
    }
  }

  async close(): Promise<void> {
    if (this.#folder !== this.parent) await this.#folder.close();
  }

  /** Removes what is no folder, and goes down into what is one. */
  async #take(name: string, path: TreePath): Promise<void> {
    const here = this.#folder.at(name);
    if (!(await lstat(here)).isDirectory()) return rm(here);
    const child = await this.#folder.openChild(name);
    let entered = false;
    try {
      const left = (await readdir(child.at(""))).sort().reverse();
      if (left[0] !== undefined) {
        // Without the right to search a folder there is no way to what it holds, nor back from it.
        await lookAt(child.at(left[0]), lstat);
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

  /** Goes up, and removes the folder that it leaves unless something stayed in it. */
  async #leave(): Promise<void> {
    const level = this.#levels.pop();
    if (level === undefined) return;
    const above = this.#levels.length === 0 ? this.parent : await this.#wayUp(level);
    if (above === undefined) return;
    await this.#folder.close();
    this.#folder = above;
    if (level.isEmpty) await this.#attempt(level.path, () => rmdir(above.at(level.name)));
    else this.#markOccupied();
  }

  /** The folder above a level. Where another program took the way back, that is told, and the removal ends. */
  async #wayUp({ path, above }: Level): Promise<Folder | undefined> {
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
      // Somebody else removed it.
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

/** The same for what has a disk path of its own. */
export async function dismantleAt(folder: string, name: string, path: TreePath): Promise<Failure[]> {
  const held = await Folder.open(folder);
  try {
    return await dismantle(held, name, path);
  } finally {
    await held.close();
  }
}
