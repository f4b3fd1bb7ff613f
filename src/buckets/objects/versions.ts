import { Pacer } from "../../base/turns.ts";
import type { Database } from "../../db/database.ts";
import type { DatabaseTransaction } from "../../db/dialect.ts";
import { isFolderValue } from "../../db/entry-rows.ts";
import type { EntryValue, RemovedValue } from "../../db/entry-values.ts";
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

  /** list implements `FileStore.history`. It reads all that the bucket keeps, in small batches. */
  async list(path: TreePath, options: HistoryOptions): Promise<FileVersion[]> {
    const { removed } = this.#database;
    const now = await removed.now();
    const pacer = new Pacer();
    const found = new NewestVersions(options);
    for await (const batch of removed.current.removed(this.#bucketPath)) {
      for (const { key, value } of batch) {
        const at = parseTreePath(value.path);
        if (value.until < now || at === undefined) continue;
        const version = Number.parseInt(key, 10);
        // A whole page of newer ones, or an earlier page: a folder need not be read.
        if (!found.mayTake(version)) continue;
        const top = await this.#topOf(path, at, value.entry);
        if (top === undefined) continue;
        if (!options.filesOnly || !isFolderValue(top.entry))
          found.add(toVersion(version, top.at, { ...value, entry: top.entry }));
        else
          for await (const { path: below, value: entry } of walkEntries(removed.current, top.entry.id)) {
            const at = isFolderValue(entry) ? undefined : parseTreePath(`${top.at}/${below}`);
            if (at !== undefined) found.add(toVersion(version, at, { ...value, entry }));
            if (pacer.isDue) await pacer.nextTurn();
          }
      }
      if (pacer.isDue) await pacer.nextTurn();
    }
    return found.take();
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

/** NewestVersions are the first `max` of all that are added, in the order of a history; it holds little more than that. */
class NewestVersions {
  readonly #options: HistoryOptions;
  #found: FileVersion[] = [];
  /** Older ones are on a later page. */
  #oldest = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  mayTake(version: number): boolean {
    const { after } = this.#options;
    return version >= this.#oldest && (after === undefined || version <= after.version);
  }

  add(version: FileVersion): void {
    const { after, max } = this.#options;
    if (after !== undefined && compareVersions(version, after) <= 0) return;
    this.#found.push(version);
    if (this.#found.length < 2 * max + 1000) return;
    this.#found = this.take();
    this.#oldest = this.#found.at(-1)?.version ?? 0;
  }

  take(): FileVersion[] {
    return this.#found.sort(compareVersions).slice(0, this.#options.max);
  }
}

/** By version, the newest first, and by path. */
function compareVersions(a: VersionName, b: VersionName): number {
  if (a.version !== b.version) return b.version - a.version;
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
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
