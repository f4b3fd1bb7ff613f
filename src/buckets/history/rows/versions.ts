// This folder is the history of buckets whose names are rows. The RowVersions of this file list and find what was deleted
// or replaced: its row was moved to another namespace, and its blob stays until a sweep; trees/rows/entry-writer.ts
// moves the row back. part-blobs.ts keeps each piece of a resumable upload as a blob, so that any node can go on with
// the upload. reuse-rows.ts gives a deploy the files that another tree has already, by rows that name the same blobs.

import { Pacer } from "../../../base/turns.ts";
import type { Database } from "../../../db/database.ts";
import type { DatabaseTransaction } from "../../../db/dialect.ts";
import { isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, RemovedValue } from "../../../db/rows/entry-values.ts";
import type { ObjectRows } from "../../../db/rows/store-rows.ts";
import { walkEntries } from "../../maintenance/manifest.ts";
import { isBelow, parseTreePath, pathBelow, segmentsOf, type TreePath, treeRoot } from "../../path.ts";
import {
  type FileVersion,
  type HistoryOptions,
  isFolder,
  type OpenFile,
  type VersionName,
  type Versions,
  type VersionsSize,
} from "../../ports.ts";
import { noSuchVersion } from "../faults.ts";

/** Rows that one statement of a list reads. */
const maxAtOnce = 500;

/** FoundVersion is what a version name leads to, within a transaction. */
export interface FoundVersion {
  readonly entry: EntryValue;
  /** Takes the version's own name away, because the folder gets another one: a folder must not be in two places. */
  detach(): Promise<void>;
}

interface RowVersionsOptions {
  readonly database: Pick<Database, "removed" | "entries">;
  readonly bucketPath: string;
  readonly retentionDays: number;
  /** Opens the content of a file that is not in its place any more; needed for `open` alone. */
  readonly openContent?: (path: TreePath, value: FileValue) => OpenFile;
}

/** RowVersions are the files and folders of a bucket that were deleted or replaced, and are still kept. */
export class RowVersions implements Versions {
  readonly retentionDays: number;
  readonly #database: Pick<Database, "removed" | "entries">;
  readonly #bucketPath: string;
  readonly #openContent: RowVersionsOptions["openContent"];

  constructor({ database, bucketPath, retentionDays, openContent }: RowVersionsOptions) {
    this.#openContent = openContent;
    this.retentionDays = retentionDays;
    this.#database = database;
    this.#bucketPath = bucketPath;
  }

  purge(): Promise<number> {
    return this.#database.removed.expireAll(this.#bucketPath);
  }

  /**
   * list reads what was removed from the newest on, and of removed folders only as much as the answer
   * has: files of one version are in the order of their paths, in which a folder can be read.
   */
  async list(
    path: TreePath,
    { max, after, filesOnly = false, matches = () => true }: HistoryOptions,
  ): Promise<FileVersion[]> {
    const { removed } = this.#database;
    const now = await removed.now();
    const pacer = new Pacer();
    const found: FileVersion[] = [];
    const atOnce = Math.min(max + 1, maxAtOnce);
    const versions = removed.current.newestRemoved(this.#bucketPath, { from: after?.version, atOnce });
    for await (const { version, removed: values } of versions) {
      if (pacer.isDue) await pacer.nextTurn();
      for (const { path: top, value } of await this.#topsOf(path, values, now)) {
        const isPage = after?.version === version;
        if (!filesOnly || !isFolderValue(value.entry)) {
          if (matches(top) && (!isPage || comparePaths(top, after.path) > 0))
            found.push(toVersion(version, top, value));
          continue;
        }
        const from = isPage ? namesAfter(top, after.path) : [];
        if (from === undefined) continue;
        for await (const { path: below, value: entry } of filesInOrder(
          removed.current,
          value.entry.id,
          from,
        )) {
          const at = parseTreePath(`${top}/${below}`);
          if (at !== undefined && matches(at)) found.push(toVersion(version, at, { ...value, entry }));
          if (found.length >= max) break;
          if (pacer.isDue) await pacer.nextTurn();
        }
        if (found.length >= max) break;
      }
      if (found.length >= max) break;
    }
    return found.slice(0, max);
  }

  async measure(): Promise<VersionsSize> {
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

  /** Returns what one change removed at `path`, above it or below it, and can still be restored, sorted by path. */
  async #topsOf(path: TreePath, values: readonly RemovedValue[], now: number): Promise<Top[]> {
    const tops: Top[] = [];
    for (const value of values) {
      const at = parseTreePath(value.path);
      if (value.until < now || at === undefined) continue;
      const top = await this.#topOf(path, at, value.entry);
      if (top !== undefined) tops.push({ path: top.at, value: { ...value, entry: top.entry } });
    }
    return tops.sort((a, b) => comparePaths(a.path, b.path));
  }

  /** Returns the part of what was removed at `at` that lies at `path` or below it; undefined if there is none. */
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

  async open(wanted: VersionName): Promise<OpenFile> {
    const found = await this.find(wanted, { nowMs: await this.#database.removed.now() });
    if (found === undefined || this.#openContent === undefined) throw noSuchVersion(wanted);
    if (isFolderValue(found.entry)) throw isFolder(wanted.path);
    return this.#openContent(wanted.path, found.entry);
  }

  /** find is undefined if there is no such version, or it is not kept any more. It can be detached only within a transaction. */
  async find(
    { version, path }: VersionName,
    { transaction, nowMs }: { readonly transaction?: DatabaseTransaction; readonly nowMs: number },
  ): Promise<FoundVersion | undefined> {
    const { removed } = this.#database;
    if (path === treeRoot) return undefined;
    // The path itself was removed, or one of the folders above it.
    const keys = segmentsOf(path).map((name) => `${version}/${name}`);
    const rows = await removed.some(this.#bucketPath, keys, transaction);
    const row = [...rows].find(([, value]) => value.path === path || path.startsWith(`${value.path}/`));
    if (row === undefined) return undefined;
    const [key, { entry, path: top, until }] = row;
    if (until < nowMs) return undefined;
    const forget = async () => {
      if (transaction !== undefined) await removed.forget(this.#bucketPath, key, transaction);
    };
    if (top === path) return { entry, detach: forget };
    return isFolderValue(entry)
      ? this.#findInside(entry.id, path.slice(top.length + 1), transaction)
      : undefined;
  }

  async #findInside(
    folderId: string,
    path: string,
    transaction: DatabaseTransaction | undefined,
  ): Promise<FoundVersion | undefined> {
    const { entries: all } = this.#database;
    const entries = transaction === undefined ? all : all.within(transaction);
    const names = path.split("/");
    const found = await entries.followFrom(folderId, names);
    const [last, above] = [found.at(-1), found.at(-2)?.value];
    if (last === undefined || found.length < names.length) return undefined;
    const parent = above !== undefined && isFolderValue(above) ? above.id : folderId;
    return { entry: last.value, detach: () => entries.delete(parent, last.name) };
  }

  /** Returns the entry that a removed folder has at a path below its own. */
  async #inside(folderId: string, path: TreePath, top: TreePath): Promise<EntryValue | undefined> {
    const names = pathBelow(path, top).split("/");
    const found = await this.#database.entries.followFrom(folderId, names);
    return found.length < names.length ? undefined : found.at(-1)?.value;
  }
}

/** Top is a removed file or folder, as far as it is at the path that a history is about. */
interface Top {
  readonly path: TreePath;
  readonly value: RemovedValue;
}

/** `filesInOrder` returns the files below a folder in the order of their paths, after the path of these names. */
async function* filesInOrder(
  names: ObjectRows,
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
    retainedUntilMs: until,
  };
}
