import { Fault } from "../../../base/fault.ts";
import type { Database } from "../../../db/database.ts";
import { type EntryRows, entryRow, isFolderValue, type TreeRow } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../../db/rows/entry-values.ts";
import { childPath, segmentsOf, splitPath, type TreePath, treeRoot, withAncestors } from "../../path.ts";
import type { ReuseOptions, WantedFile } from "../../ports.ts";
import { hashOfNothing, refuseLongNames, rootValue, treeIsMissing } from "../../trees/rows/locate.ts";

/** Files that one transaction adds: writers of the bucket wait for it. */
const maxFilesPerTransaction = 1000;

interface ReuseRowsOptions extends Pick<ReuseOptions, "signal" | "sourcesOf"> {
  readonly database: Database;
  /** The paths of the places. */
  readonly from: string;
  readonly to: string;
  /** Throws if the target may not be changed any more; called while its head is locked. */
  readonly check: () => Promise<void>;
  /** Called with the head of the target after each transaction. */
  readonly onChanged: (head: HeadValue) => void;
}

/**
 * `reuseRows` gives a tree the files whose content another one has at one of their sources: rows that name the same blobs. Returns
 * the others. Both heads are locked meanwhile, so that no row that names a blob is removed before the new one is committed.
 */
export async function reuseRows(
  files: readonly WantedFile[],
  options: ReuseRowsOptions,
): Promise<WantedFile[]> {
  const missing: WantedFile[] = [];
  for (let at = 0; at < files.length; at += maxFilesPerTransaction) {
    options.signal.throwIfAborted();
    missing.push(...(await reuseBatch(files.slice(at, at + maxFilesPerTransaction), options)));
  }
  return missing;
}

async function reuseBatch(
  files: readonly WantedFile[],
  { database, from, to, sourcesOf, check, onChanged }: ReuseRowsOptions,
): Promise<WantedFile[]> {
  let changed: HeadValue | undefined;
  const missing = await database.transact(async (transaction) => {
    const { head: source } = await database.heads.lock(from, transaction);
    const { head: target, nowMs } = await database.heads.lock(to, transaction);
    if (source === undefined || target === undefined) throw treeIsMissing();
    await check();
    const rows = database.entries.within(transaction);
    const reused = new ReusedRows(rows, target, nowMs);
    const sourceTree = new TreeLookup(rows, source);
    await sourceTree.load(files.flatMap(sourcesOf));
    await reused.lookup.load(files.map(({ path }) => path));
    const left = files.filter(
      (file) =>
        !reused.add(
          file,
          sourcesOf(file).map((path) => sourceTree.at(path)),
        ),
    );
    changed = await reused.write();
    if (changed !== undefined) await database.heads.write(to, changed, transaction);
    return left;
  });
  if (changed !== undefined) onChanged(changed);
  return missing;
}

/** ReusedRows collects the rows of one transaction. */
class ReusedRows {
  readonly lookup: TreeLookup;
  readonly #rows: EntryRows;
  readonly #head: HeadValue;
  readonly #nowMs: number;
  readonly #pending: TreeRow[] = [];

  constructor(rows: EntryRows, head: HeadValue, nowMs: number) {
    this.lookup = new TreeLookup(rows, head);
    this.#rows = rows;
    this.#head = { ...head, version: head.version + 1, at: nowMs, modified: nowMs };
    this.#nowMs = nowMs;
  }

  /** Adds a file if the tree has it already, or if one of `sources` has its content; false otherwise. */
  add({ path, size, sha256 }: WantedFile, sources: ReadonlyArray<EntryValue | undefined>): boolean {
    const present = this.lookup.at(path);
    if (present !== undefined && isFolderValue(present))
      throw new Fault("InvalidInput", "the deploy has a folder at this path", {
        path,
        reason: "is_folder",
      });
    if (present?.hash === sha256) return true;
    const content = size === 0 && sha256 === hashOfNothing ? nothing : contentIn(sources, sha256);
    // The folders of a file that is uploaded later are checked when it is.
    if (content === undefined) return false;
    refuseLongNames(path);
    const { folder, name } = splitPath(path);
    const { blob, hash, modified } = content;
    const value: FileValue = {
      blob,
      hash,
      size: content.size,
      modified: modified ?? this.#nowMs,
      created: this.#nowMs,
      version: this.#head.version,
    };
    this.#pending.push(entryRow(this.#folder(folder).id, name, value));
    return true;
  }

  /** Returns the new head; undefined if nothing was added. */
  async write(): Promise<HeadValue | undefined> {
    if (this.#pending.length === 0) return undefined;
    await this.#rows.write(this.#pending);
    return this.#head;
  }

  #folder(path: TreePath): FolderValue {
    let at = treeRoot;
    let folder = this.lookup.at(treeRoot) as FolderValue;
    for (const name of segmentsOf(path)) {
      at = childPath(at, name);
      const found = this.lookup.at(at);
      if (found !== undefined && !isFolderValue(found))
        throw new Fault("InvalidInput", "the deploy has a file where the path needs a folder", {
          path,
          reason: "is_file",
        });
      const next = found ?? {
        id: Bun.randomUUIDv7(),
        created: this.#nowMs,
        modified: this.#nowMs,
        version: this.#head.version,
      };
      if (found === undefined) {
        this.#pending.push(entryRow(folder.id, name, next));
        this.lookup.add(at, next);
      }
      folder = next;
    }
    return folder;
  }
}

type Content = Pick<FileValue, "blob" | "hash" | "size"> & { readonly modified?: number };

const nothing: Content = { blob: null, hash: hashOfNothing, size: 0 };

function contentIn(sources: ReadonlyArray<EntryValue | undefined>, sha256: string): Content | undefined {
  for (const value of sources)
    if (value !== undefined && !isFolderValue(value) && value.hash === sha256) return value;
  return undefined;
}

/** Names that one statement looks up. */
const namesAtOnce = 500;

/** TreeLookup finds many paths of one tree with few statements: one for the names of each folder. Names are compared as they are. */
class TreeLookup {
  readonly #rows: EntryRows;
  /** Entries at the paths that were looked up; undefined where nothing exists. */
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

  /** at returns the entry at a path that was loaded, or added since. */
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
