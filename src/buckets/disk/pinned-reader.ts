import type { TreePath } from "../path.ts";
import {
  type FileEntry,
  type FileSnapshot,
  type OpenFile,
  type PinnedReader,
  TreeExchanged,
  type TreeReader,
} from "../ports.ts";

export interface DiskPin {
  readonly tree: string;
  /** The tree that is in place now. Synchronous. */
  readonly present: () => string;
}

/** PinnedDiskReader looks after each read whether its tree is still in place: what was read then is of this tree. */
export class PinnedDiskReader implements PinnedReader {
  readonly tree: string;
  readonly #reader: TreeReader;
  readonly #present: () => string;

  constructor(reader: TreeReader, { tree, present }: DiskPin) {
    this.#reader = reader;
    this.tree = tree;
    this.#present = present;
  }

  find(path: TreePath): Promise<FileEntry | undefined> {
    return this.#inTree(() => this.#reader.find(path));
  }

  open(path: TreePath): Promise<OpenFile> {
    return this.#inTree(() => this.#reader.open(path));
  }

  openOrFind(path: TreePath): Promise<OpenFile | FileEntry | undefined> {
    return this.#inTree(() => this.#reader.openOrFind(path));
  }

  snapshotOfMissing(path: TreePath): FileSnapshot {
    return this.#reader.snapshotOfMissing(path);
  }

  async #inTree<T extends OpenFile | FileEntry | undefined>(read: () => Promise<T>): Promise<T> {
    let found: T;
    try {
      found = await read();
    } catch (error) {
      throw this.#isExchanged ? new TreeExchanged() : error;
    }
    if (!this.#isExchanged) return found;
    if (found !== undefined && !("kind" in found)) await found[Symbol.asyncDispose]();
    throw new TreeExchanged();
  }

  get #isExchanged(): boolean {
    return this.#present() !== this.tree;
  }
}
