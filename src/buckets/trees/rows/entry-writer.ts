import { Pacer } from "../../../base/turns.ts";
import type { DatabaseTransaction } from "../../../db/dialect.ts";
import {
  type EntryRows,
  entryRow,
  folderNamespace,
  type HeldEntries,
  isFolderValue,
  removedRow,
  type TreeRow,
} from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../../db/rows/entry-values.ts";
import { isTaken, noSuchVersion } from "../../history/faults.ts";
import type { FoundVersion } from "../../history/rows/versions.ts";
import { refuseLate } from "../../maintenance/sweep.ts";
import type { Metadata } from "../../metadata/metadata.ts";
import { segmentsOf, type TreePath } from "../../path.ts";
import {
  type CopyOptions,
  type Failure,
  type FileEntry,
  type FileStats,
  type FileVersion,
  folderExists,
  type MoveOptions,
  notFound,
  type PutOptions,
  type Removal,
  type StagedFile,
  type Times,
  type VersionName,
  type WriteTransaction,
} from "../../ports.ts";
import { EntryStats } from "./entry.ts";
import type { EntryReader } from "./entry-reader.ts";
import type { WrittenRow } from "./known-rows.ts";
import { entryOf, folderAt, hashOfNothing, type LocatedPath, lowestPosition, positionOf } from "./locate.ts";
import { StagedBlob } from "./staged-blob.ts";

interface EntryWriterOptions {
  readonly bucketPath: string;
  readonly reader: EntryReader;
  readonly metadata: Metadata;
  readonly transaction: DatabaseTransaction;
  /** The rows as the transaction sees and changes them. */
  readonly entries: HeldEntries;
  /** What the reader remembers, to be cleared with every change. */
  readonly located: Map<TreePath, LocatedPath>;
  readonly head: HeadValue;
  /** Finds what was deleted or replaced, as the transaction sees it. */
  readonly findVersion: (wanted: VersionName) => Promise<FoundVersion | undefined>;
  /** The clock of the database. */
  readonly nowMs: number;
  readonly keepRemovedMs: number;
  /** Aborts when the server stops: copies end. */
  readonly stopping: AbortSignal;
}

/** WriteState is what a change has done so far. */
export interface WriteState {
  /** As it will be stored. Its version was raised by one with each operation. */
  readonly head: HeadValue;
  /** The head that the transaction has locked. */
  readonly locked: HeadValue;
  /** Whether it changed any entry, and not only locks or properties. */
  readonly isChanged: boolean;
  /** The rows that were written; undefined if some of them are not known. */
  readonly rows: readonly WrittenRow[] | undefined;
  /** The content that entries name since. */
  readonly named: ReadonlyArray<{ readonly path: TreePath; readonly staged: StagedBlob }>;
}

/**
 * EntryWriter changes the rows of a bucket within a transaction that has locked its head. Operations that are refused have
 * changed nothing. It has more than 15 methods because each of the eight operations is made of the same small steps on rows.
 */
export class EntryWriter implements WriteTransaction {
  readonly reader: EntryReader;
  readonly metadata: Metadata;
  readonly database: DatabaseTransaction;
  readonly #options: EntryWriterOptions;
  readonly #rows: HeldEntries;
  #written: WriteState;
  /** Rows of the present operation, which are written together at its end. */
  readonly #pending: TreeRow[] = [];

  constructor(options: EntryWriterOptions) {
    this.#options = options;
    this.reader = options.reader;
    this.metadata = options.metadata;
    this.database = options.transaction;
    this.#rows = options.entries;
    this.#written = unwritten(options.head, options.head);
  }

  get written(): WriteState {
    return this.#written;
  }

  /** begin starts a new change, after one that was kept, or from the state before one that was undone. */
  begin({ head }: Pick<WriteState, "head">): void {
    this.#options.located.clear();
    this.#pending.length = 0;
    this.#written = unwritten(head, this.#options.head);
  }

  /** holding runs `work`, during which the rows on the way to these paths are in memory, and writes what it changed at its end. */
  async holding<T>(paths: readonly TreePath[], work: () => Promise<T>): Promise<T> {
    const { head } = this.#options;
    await this.#rows.hold(head, paths.map(segmentsOf));
    try {
      const result = await work();
      await this.#rows.flush();
      return result;
    } finally {
      this.#rows.release();
    }
  }

  async put(staged: StagedFile, to: TreePath, options: PutOptions): Promise<FileStats> {
    const content = StagedBlob.from(staged);
    const { blob } = content;
    if (blob !== undefined) refuseLate(blob.key, this.#options.nowMs);
    const stats = await this.#putFile(
      to,
      {
        blob: blob?.key ?? null,
        hash: blob?.sha256 ?? hashOfNothing,
        size: content.size,
        ...(content.record && { record: Buffer.from(content.record).toString("base64") }),
      },
      options,
    );
    content.isNamed = true;
    this.#written = { ...this.#written, named: [...this.#written.named, { path: to, staged: content }] };
    return stats;
  }

  makeFile(path: TreePath): Promise<FileStats> {
    return this.#putFile(path, { blob: null, hash: hashOfNothing, size: 0 }, { makeParents: false });
  }

  async makeFolder(path: TreePath, times: Times): Promise<boolean> {
    const located = await this.reader.locate(path);
    if (entryOf(located) !== undefined) return false;
    const { folder, name } = positionOf(located);
    const version = this.#nextVersion();
    const value = { id: Bun.randomUUIDv7(), ...this.#times(times), version };
    this.#pending.push(entryRow(folder.id, name, value));
    await this.#touch(located);
    return true;
  }

  async remove(entry: FileEntry): Promise<Removal> {
    const located = await this.reader.locate(entry.path);
    const value = entryOf(located);
    if (value === undefined) return { failures: [] };
    const { folder, name } = positionOf(located);
    const version = this.#nextVersion();
    this.#keep(located.path, value, version);
    await this.#delete(folder.id, name);
    await this.#touch(located);
    return { failures: [], version: this.#options.keepRemovedMs > 0 ? version : undefined };
  }

  /** Changes one row, whatever the folder contains: what is in it belongs to its id. */
  async move(entry: FileEntry, to: TreePath, options: MoveOptions): Promise<Failure[]> {
    const source = await this.reader.locate(entry.path);
    const value = entryOf(source);
    if (value === undefined) throw notFound(entry.path);
    const from = positionOf(source);
    const target = await this.#makeRoom(to, options);
    await this.#delete(from.folder.id, from.name);
    this.#pending.push(entryRow(target.folder.id, target.name, { ...value, version: target.version }));
    await this.#touch(source, target.located);
    return [];
  }

  async copy(
    entry: FileEntry,
    to: TreePath,
    { recursive, makeParents, signal }: CopyOptions,
  ): Promise<Failure[]> {
    const value = entryOf(await this.reader.locate(entry.path));
    if (value === undefined) throw notFound(entry.path);
    const { folder, name, version, located } = await this.#makeRoom(to, { makeParents });
    const { nowMs, stopping } = this.#options;
    const changes = { version, created: nowMs };
    const id = Bun.randomUUIDv7();
    const copied = isFolderValue(value)
      ? { ...value, ...changes, modified: nowMs, id }
      : { ...value, ...changes };
    this.#pending.push(entryRow(folder.id, name, copied));
    await this.#touch(located);
    if (isFolderValue(value) && recursive)
      await copyTree(this.#rows, { from: value.id, to: id, changes }, AbortSignal.any([signal, stopping]));
    return [];
  }

  async setTimes(entry: FileEntry, { modified, accessed }: Times): Promise<void> {
    const located = await this.reader.locate(entry.path);
    const value = entryOf(located);
    if (value === undefined) throw notFound(entry.path);
    const version = this.#nextVersion();
    const changes = {
      ...(modified === undefined ? {} : { modified: modified.getTime() }),
      ...(accessed === undefined ? {} : { accessed: accessed.getTime() }),
    };
    await this.#write(this.#updated(located, located.names.length, { ...changes, version }));
  }

  async restoreVersion(wanted: VersionName, to: TreePath): Promise<FileVersion["kind"]> {
    const found = await this.#options.findVersion(wanted);
    if (found === undefined) throw noSuchVersion(wanted);
    const old = entryOf(await this.reader.locate(to));
    const isFolder = isFolderValue(found.entry);
    if (old !== undefined && (isFolder || isFolderValue(old))) throw isTaken(to);
    const { folder, name, version, located } = await this.#makeRoom(to, { makeParents: true });
    // A version of a file stays one: any number of names may share its content.
    if (isFolder) {
      await found.detach();
      // It was detached from a folder of which something may be known from the time before it was removed.
      this.#written = { ...this.#written, rows: undefined };
    }
    this.#pending.push(entryRow(folder.id, name, { ...found.entry, version }));
    await this.#touch(located);
    return isFolder ? "folder" : "file";
  }

  async #putFile(
    to: TreePath,
    content: Pick<FileValue, "blob" | "hash" | "size" | "record">,
    options: PutOptions,
  ): Promise<FileStats> {
    const old = entryOf(await this.reader.locate(to));
    if (old !== undefined && isFolderValue(old)) throw folderExists(to);
    const { folder, name, version, located } = await this.#makeRoom(to, options);
    const times = this.#times(options);
    const value: FileValue = { ...content, ...times, created: old?.created ?? times.created, version };
    this.#pending.push(entryRow(folder.id, name, value));
    await this.#touch(located);
    return new EntryStats(value);
  }

  /**
   * Begins a new version in which something is put at a path: missing folders above it are created, what exists there is kept as
   * removed.
   */
  async #makeRoom(to: TreePath, { makeParents }: { readonly makeParents: boolean }) {
    const located = await this.reader.locate(to);
    const lowest = lowestPosition(located, { makeParents });
    const version = this.#nextVersion();
    let { folder } = lowest;
    for (const name of lowest.missing) {
      const made: FolderValue = { id: Bun.randomUUIDv7(), ...this.#times({}), version };
      this.#pending.push(entryRow(folder.id, name, made));
      folder = made;
    }
    const old = entryOf(located);
    if (old !== undefined) this.#keep(located.path, old, version);
    return { folder, name: lowest.name, version, located };
  }

  #keep(path: TreePath, entry: EntryValue, version: number): void {
    const { bucketPath, nowMs, keepRemovedMs } = this.#options;
    const removed = { path, entry, at: nowMs, until: nowMs + keepRemovedMs };
    this.#pending.push(removedRow(bucketPath, version, removed));
  }

  /**
   * Ends an operation: writes what is pending, and sets the times of the folders in which names have changed, or of the lowest
   * that existed before. Folders of a disk do the same.
   */
  async #touch(...changed: readonly LocatedPath[]): Promise<void> {
    const { version } = this.#written.head;
    const touched = changed.flatMap((located) =>
      this.#updated(located, Math.min(located.names.length, located.chain.length) - 1, {
        modified: this.#options.nowMs,
        version,
      }),
    );
    await this.#write([...this.#pending.splice(0), ...touched]);
  }

  async #write(rows: readonly TreeRow[]): Promise<void> {
    this.#note(rows.flatMap((row) => ("entry" in row.value ? [] : [{ ...row, value: row.value }])));
    await this.#rows.write(rows);
  }

  async #delete(folder: string, name: string): Promise<void> {
    this.#note([{ namespace: folderNamespace(folder), key: name, value: undefined }]);
    await this.#rows.delete(folder, name);
  }

  #note(rows: readonly WrittenRow[]): void {
    const { rows: before } = this.#written;
    this.#written = { ...this.#written, rows: before && [...before, ...rows] };
  }

  /**
   * The row of a changed entry on the way to a located path. At depth 0 is the bucket's own folder, which has none: its values
   * are in the head.
   */
  #updated(located: LocatedPath, depth: number, changes: Partial<EntryValue>): TreeRow[] {
    if (depth <= 0) {
      const { modified, accessed } = changes;
      const head = {
        ...this.#written.head,
        ...(modified === undefined ? {} : { modified }),
        ...(accessed === undefined ? {} : { accessed }),
      };
      this.#written = { ...this.#written, head };
      return [];
    }
    const { chain, names } = located;
    const value = chain[depth];
    const name = names[depth - 1];
    if (value === undefined || name === undefined) throw notFound(located.path);
    return [entryRow(folderAt(located, depth - 1).id, name, { ...value, ...changes } as EntryValue)];
  }

  #nextVersion(): number {
    this.#options.located.clear();
    const { head } = this.#written;
    const version = head.version + 1;
    this.#written = {
      ...this.#written,
      head: { ...head, version, at: this.#options.nowMs },
      isChanged: true,
    };
    return version;
  }

  #times({ modified, accessed }: Times): Pick<EntryValue, "modified" | "created" | "accessed"> {
    const { nowMs } = this.#options;
    return {
      created: nowMs,
      modified: modified?.getTime() ?? nowMs,
      ...(accessed === undefined ? {} : { accessed: accessed.getTime() }),
    };
  }
}

function unwritten(head: HeadValue, locked: HeadValue): WriteState {
  return { head, locked, isChanged: false, rows: [], named: [] };
}

interface TreeCopy {
  /** The id of the folder that is copied. */
  readonly from: string;
  /** The id of a new folder, which is empty. */
  readonly to: string;
  /** Members of each value that differ from the copied one. */
  readonly changes: Pick<EntryValue, "created" | "version">;
}

/**
 * copyTree copies everything in a folder into another one. Folders get new ids; files name the same blobs. Rejects with the
 * reason of `signal` when that aborts.
 */
async function copyTree(
  rows: EntryRows,
  { from, to, changes }: TreeCopy,
  signal: AbortSignal,
): Promise<void> {
  const folders = [{ from, to }];
  const pacer = new Pacer();
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal.throwIfAborted();
    await rows.copyFiles(at.from, at.to, changes);
    for (const { name, value } of await rows.folders(at.from)) {
      const id = Bun.randomUUIDv7();
      await rows.put(at.to, name, { ...value, ...changes, modified: changes.created, id });
      folders.push({ from: value.id, to: id });
    }
    if (pacer.isDue) await pacer.nextTurn();
  }
}
