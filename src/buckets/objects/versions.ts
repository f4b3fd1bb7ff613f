import { Pacer } from "../../base/turns.ts";
import type { Database } from "../../db/database.ts";
import type { DatabaseTransaction } from "../../db/dialect.ts";
import { isFolderValue } from "../../db/entry-rows.ts";
import type { EntryValue, RemovedValue } from "../../db/entry-values.ts";
import type { StoredNames } from "../../db/stored-names.ts";
import type { FileVersion, HistoryOptions, KeptSize, VersionName } from "../file-version.ts";
import { isBelow, parseTreePath, pathBelow, segmentsOf, type TreePath, treeRoot } from "../path.ts";
import { walkEntries } from "./manifest.ts";

/** FoundVersion is what a version name leads to, within a transaction. */
export interface FoundVersion {
  readonly entry: EntryValue;
  /** Takes the version's own name away, because the folder gets another one: a folder must not be in two places. */
  detach(): Promise<void>;
}

/** Versions are the files and folders of a bucket that were deleted or replaced, and are still kept. */
export class Versions {
  readonly #database: Pick<Database, "removed" | "entries">;
  readonly #bucketPath: string;

  constructor(database: Pick<Database, "removed" | "entries">, bucketPath: string) {
    this.#database = database;
    this.#bucketPath = bucketPath;
  }

  /**
   * list implements `FileStore.history`. It reads the names that were removed, and of removed folders only as much as the answer
   * has: files of one version are in the order of their paths, in which a folder can be read.
   */
  async list(path: TreePath, { max, after, filesOnly = false }: HistoryOptions): Promise<FileVersion[]> {
    const { removed } = this.#database;
    const now = await removed.now();
    const pacer = new Pacer();
    const tops = new NewestTops({ max, after, filesOnly });
    for await (const batch of removed.current.removed(this.#bucketPath)) {
      for (const { key, value } of batch) {
        const at = parseTreePath(value.path);
        const version = Number.parseInt(key, 10);
        if (value.until < now || at === undefined || !tops.mayTake(version)) continue;
        const top = await this.#topOf(path, at, value.entry);
        if (top !== undefined) tops.add({ version, path: top.at, value: { ...value, entry: top.entry } });
      }
      if (pacer.isDue) await pacer.nextTurn();
    }
    const found: FileVersion[] = [];
    for (const { version, path: top, value } of tops.take()) {
      if (found.length >= max) break;
      const isPage = after?.version === version;
      if (!filesOnly || !isFolderValue(value.entry)) {
        if (!isPage || comparePaths(top, after.path) > 0) found.push(toVersion(version, top, value));
        continue;
      }
      const from = isPage ? namesAfter(top, after.path) : [];
      if (from === undefined) continue;
      for await (const { path: below, value: entry } of filesInOrder(removed.current, value.entry.id, from)) {
        const at = parseTreePath(`${top}/${below}`);
        if (at !== undefined) found.push(toVersion(version, at, { ...value, entry }));
        if (found.length >= max) break;
        if (pacer.isDue) await pacer.nextTurn();
      }
    }
    return found;
  }

  /** measure implements `FileStore.measureKept`. */
  async measure(): Promise<KeptSize> {
    const { removed } = this.#database;
    const now = await removed.now();
    const pacer = new Pacer();
    let [versions, bytes] = [0, 0];
    for await (const batch of removed.current.removed(this.#bucketPath))
      for (const { value } of batch) {
        if (pacer.isDue) await pacer.nextTurn();
        if (value.until < now) continue;
        versions += 1;
        if (!isFolderValue(value.entry)) bytes += value.entry.size;
        else
          for await (const { value: entry } of walkEntries(removed.current, value.entry.id)) {
            if (!isFolderValue(entry)) bytes += entry.size;
            if (pacer.isDue) await pacer.nextTurn();
          }
      }
    return { versions, bytes };
  }

  /** What was removed at `at`, as far as it is at `path` or below it; undefined if nothing is. */
  async #topOf(
    path: TreePath,
    at: TreePath,
    entry: EntryValue,
  ): Promise<{ readonly at: TreePath; readonly entry: EntryValue } | undefined> {
    if (at === path || isBelow(at, path)) return { at, entry };
    if (!isBelow(path, at) || !isFolderValue(entry)) return undefined;
    const inside = await this.#inside(entry.id, path, at);
    return inside && { at: path, entry: inside };
  }

  /** find is undefined if there is no such version, or it is not kept any more. */
  async find(
    { version, path }: VersionName,
    { transaction, nowMs }: { readonly transaction: DatabaseTransaction; readonly nowMs: number },
  ): Promise<FoundVersion | undefined> {
    const { removed } = this.#database;
    if (path === treeRoot) return undefined;
    // The path itself was removed, or one of the folders above it.
    const keys = segmentsOf(path).map((name) => `${version}/${name}`);
    const rows = await removed.some(this.#bucketPath, keys, transaction);
    const row = rows.find(({ value }) => value.path === path || path.startsWith(`${value.path}/`));
    if (row === undefined || row.value.until < nowMs) return undefined;
    const { entry, path: top } = row.value;
    if (top === path) return { entry, detach: () => removed.forget(this.#bucketPath, row.key, transaction) };
    return isFolderValue(entry)
      ? this.#findInside(entry.id, path.slice(top.length + 1), transaction)
      : undefined;
  }

  async #findInside(
    folderId: string,
    path: string,
    transaction: DatabaseTransaction,
  ): Promise<FoundVersion | undefined> {
    const entries = this.#database.entries.within(transaction);
    const names = path.split("/");
    const found = await entries.followFrom(folderId, names);
    const [last, above] = [found.at(-1), found.at(-2)?.value];
    if (last === undefined || found.length < names.length) return undefined;
    const parent = above !== undefined && isFolderValue(above) ? above.id : folderId;
    return { entry: last.value, detach: () => entries.delete(parent, last.name) };
  }

  /** What a removed folder has at a path below the one that it had. */
  async #inside(folderId: string, path: TreePath, top: TreePath): Promise<EntryValue | undefined> {
    const names = pathBelow(path, top).split("/");
    const found = await this.#database.entries.followFrom(folderId, names);
    return found.length < names.length ? undefined : found.at(-1)?.value;
  }
}

/** Top is a removed file or folder, as far as it is at the path that a history is about. */
interface Top extends VersionName {
  readonly value: RemovedValue;
}

/** NewestTops are those of which a page of a history consists, the newest first; it holds little more than that. */
class NewestTops {
  readonly #options: HistoryOptions;
  #tops: Top[] = [];
  /** Older ones are on a later page. */
  #oldest = 0;
  #pruneAt: number;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#pruneAt = 2 * options.max + 1000;
  }

  mayTake(version: number): boolean {
    const { after } = this.#options;
    return version >= this.#oldest && (after === undefined || version <= after.version);
  }

  add(top: Top): void {
    this.#tops.push(top);
    if (this.#tops.length < this.#pruneAt) return;
    this.#tops = this.take();
    this.#pruneAt = 2 * this.#tops.length + 1000;
  }

  take(): Top[] {
    const { max, after, filesOnly } = this.#options;
    const sorted = this.#tops.sort(compareVersions);
    // A folder may be empty, and what is of the version of `after` may be on an earlier page.
    let sure = 0;
    const end = sorted.findIndex(({ version, value }) => {
      if (version !== after?.version && !(filesOnly && isFolderValue(value.entry))) sure += 1;
      return sure > max;
    });
    if (end === -1) return sorted;
    this.#oldest = sorted[end]?.version ?? 0;
    return sorted.slice(0, end);
  }
}

/** `filesInOrder` returns the files below a folder in the order of their paths, after the path of these names. */
async function* filesInOrder(
  names: StoredNames,
  folderId: string,
  after: readonly string[],
  prefix = "",
): AsyncGenerator<{ readonly path: string; readonly value: EntryValue }> {
  const [first, ...rest] = after;
  // The rest of the folder `first` comes before the siblings of that folder.
  const before = first === undefined ? undefined : await names.entry(folderId, first);
  if (first !== undefined && before !== undefined && isFolderValue(before))
    yield* filesInOrder(names, before.id, rest, `${prefix}${first}/`);
  for await (const batch of names.inOrder(folderId, first))
    for (const { key, value } of batch)
      if (isFolderValue(value)) yield* filesInOrder(names, value.id, [], `${prefix}${key}/`);
      else yield { path: prefix + key, value };
}

/** The names of `path` below `top`; none if all of `top` comes after it, undefined if all comes before. */
function namesAfter(top: TreePath, path: TreePath): readonly string[] | undefined {
  if (isBelow(path, top)) return pathBelow(path, top).split("/");
  return comparePaths(top, path) > 0 ? [] : undefined;
}

/** By version, the newest first, and by path. */
function compareVersions(a: VersionName, b: VersionName): number {
  return a.version === b.version ? comparePaths(a.path, b.path) : b.version - a.version;
}

/** By the names from the top, so that what is in a folder follows it at once; by code points, as both databases can sort. */
function comparePaths(a: TreePath, b: TreePath): number {
  return Buffer.compare(sortable(a), sortable(b));
}

function sortable(path: TreePath): Buffer {
  return Buffer.from(path.replaceAll("/", "\0"));
}

function toVersion(version: number, path: TreePath, { entry, at, until }: RemovedValue): FileVersion {
  const isFolder = isFolderValue(entry);
  return {
    version,
    path,
    kind: isFolder ? "folder" : "file",
    size: isFolder ? 0 : entry.size,
    modifiedMs: entry.modified,
    removedAtMs: at,
    keptUntilMs: until,
  };
}
