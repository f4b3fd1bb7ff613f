import { type EntryRows, isFolderValue } from "../../db/rows/entry-rows.ts";
import type { EntryValue, FolderValue, HeadValue } from "../../db/rows/entry-values.ts";
import { segmentsOf, splitPath, type TreePath, treeRoot, withAncestors } from "../path.ts";
import { rootValue } from "./values.ts";

/** Names that one statement looks up. */
const namesAtOnce = 500;

/** TreeLookup finds many paths of one tree with few statements: one for the names of each folder. Names are compared as they are. */
export class TreeLookup {
  readonly #rows: EntryRows;
  /** What exists at the paths that were looked up; undefined where nothing does. */
  readonly #known = new Map<TreePath, EntryValue | undefined>();

  constructor(rows: EntryRows, head: HeadValue) {
    this.#rows = rows;
    this.#known.set(treeRoot, rootValue(head));
  }

  /** Looks up paths and the folders above them. */
  async load(paths: readonly TreePath[]): Promise<void> {
    const wanted = new Set(paths.flatMap(withAncestors).filter((path) => !this.#known.has(path)));
    const byDepth = Map.groupBy(wanted, (path) => segmentsOf(path).length);
    for (const depth of [...byDepth.keys()].sort((a, b) => a - b)) {
      const byFolder = Map.groupBy(byDepth.get(depth) ?? [], (path) => splitPath(path).folder);
      for (const [folder, inside] of byFolder) await this.#loadNames(folder, inside);
    }
  }

  /** What exists at a path that was loaded, or added since. */
  at(path: TreePath): EntryValue | undefined {
    return this.#known.get(path);
  }

  /** Adds a folder that the caller creates. */
  add(path: TreePath, folder: FolderValue): void {
    this.#known.set(path, folder);
  }

  async #loadNames(folder: TreePath, paths: readonly TreePath[]): Promise<void> {
    for (const path of paths) this.#known.set(path, undefined);
    const parent = this.#known.get(folder);
    if (parent === undefined || !isFolderValue(parent)) return;
    const byName = new Map(paths.map((path) => [splitPath(path).name as string, path]));
    const names = [...byName.keys()];
    for (let at = 0; at < names.length; at += namesAtOnce)
      for (const { name, value } of await this.#rows.some(parent.id, names.slice(at, at + namesAtOnce))) {
        const path = byName.get(name);
        if (path !== undefined) this.#known.set(path, value);
      }
  }
}
