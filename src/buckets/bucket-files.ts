import { Fault } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
import {
  type Failure,
  type FileEntry,
  type FileReader,
  type FileStats,
  type FileStore,
  isFolder,
  notFound,
  type PlaceOptions,
  type ResolvedPath,
  type SourceAndTarget,
  type StagedFile,
  type Times,
  type WriteTransaction,
} from "./file-store.ts";
import { locksNamespace, propertiesNamespace } from "./metadata/kv-keys.ts";
import { type Lock, Locks } from "./metadata/locks.ts";
import { PropertyRecords } from "./metadata/properties.ts";
import { isBelow, splitPath, type TreePath, treeRoot } from "./path.ts";
import { type AffectedPath, assertUnlocked, type WriteConditions } from "./write-conditions.ts";

/** TransferOptions are those of a COPY or MOVE. */
export interface TransferOptions {
  /** Whether what exists at the target is replaced. */
  readonly overwrite: boolean;
  readonly conditions: WriteConditions;
  /** Ends a copy that nobody waits for any more; what it made so far is removed. */
  readonly signal: AbortSignal;
}

/** TransferResult of a COPY or MOVE: `exists` is a target that must not be overwritten, `overlap` is a path at, above or below the other. */
export type TransferResult =
  | { readonly replaced: boolean; readonly failures: readonly Failure[] }
  | "exists"
  | "overlap";

/** Description is what PROPPATCH changes of a resource. */
export interface Description {
  /** By `{namespace}name`; undefined removes a property. */
  readonly properties: ReadonlyMap<string, string | undefined>;
  readonly times: Times;
}

const neverAborted = new AbortController().signal;

export interface BucketFilesOptions {
  /** The bucket's name, under which its locks and properties are stored. */
  readonly bucket: string;
  readonly store: FileStore;
  readonly rows: Pick<Database, "kv" | "tokens">;
}

/**
 * BucketFiles is the one way to change the files of a bucket, for every protocol: in turn for each path, conditions and locks checked in
 * that turn, properties and locks moved or deleted with their resource. Beside the errors of the store, a change throws LockedFault and
 * whatever its conditions throw; then nothing was changed.
 */
export class BucketFiles {
  readonly reader: FileReader;
  readonly locks: Locks;
  readonly properties: PropertyRecords;
  readonly #store: FileStore;

  constructor({ bucket, store, rows }: BucketFilesOptions) {
    this.#store = store;
    this.reader = store.reader;
    this.locks = new Locks(rows.kv, rows.tokens, locksNamespace(bucket));
    this.properties = new PropertyRecords(rows.kv, propertiesNamespace(bucket));
  }

  /** stage stores uploaded content outside of the bucket; `write` puts it in place. */
  stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<StagedFile> {
    return this.#store.stage(content, path);
  }

  /** examine throws what `write` would throw now, before a client sends a large body for it. */
  async examine(resolved: ResolvedPath, conditions: WriteConditions): Promise<void> {
    await conditions.assertPreconditions(resolved);
    const { path, entry } = resolved;
    await this.#assertUnlocked(conditions, { path, recursive: false, changesParent: entry === undefined });
  }

  /** write puts a staged file in place, atomically. */
  async write(
    path: TreePath,
    staged: StagedFile,
    { conditions, ...options }: PlaceOptions & { readonly conditions: WriteConditions },
  ): Promise<{ readonly created: boolean; readonly stats: FileStats }> {
    return this.#change(path, conditions, async (transaction, target) => {
      const created = target.entry === undefined;
      const affected = created && options.makeParents ? await this.#firstMissing(target) : target.path;
      await this.#assertUnlocked(conditions, { path: affected, recursive: false, changesParent: created });
      if (created) await this.#forget(target.path);
      return { created, stats: await transaction.place(staged, target.path, options) };
    });
  }

  /** makeFolder is false when something exists at the path. */
  async makeFolder(path: TreePath, times: Times, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target) => {
      await this.#assertUnlocked(conditions, { path: target.path, recursive: false, changesParent: true });
      if (!(await transaction.makeFolder(target.path, times))) return false;
      await this.#forget(target.path);
      return true;
    });
  }

  /** removeFile removes a file, and is false if there is none; it throws InvalidInput for a folder. */
  async removeFile(path: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target) => {
      const { entry } = target;
      if (entry === undefined) return false;
      await this.#assertUnlocked(conditions, { path: target.path, recursive: false, changesParent: true });
      if (entry.kind === "folder") throw isFolder(target.path);
      await transaction.remove(entry);
      await this.#forget(target.path);
      return true;
    });
  }

  /** remove removes a file, or a folder with its content, and returns what could not be removed. */
  async remove(path: TreePath, conditions: WriteConditions): Promise<readonly Failure[]> {
    return this.#change(path, conditions, async (transaction, target) => {
      if (target.entry === undefined) throw notFound(path);
      await this.#assertUnlocked(conditions, { path: target.path, recursive: true, changesParent: true });
      const failures = await transaction.remove(target.entry);
      if (failures.length === 0) await this.#forget(target.path);
      return failures;
    });
  }

  /** renameFile moves a file, in place of the file at `to`. Missing folders above `to` are created. False if both are the same file. */
  async renameFile(from: TreePath, to: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#store.transactBoth({ source: from, target: to }, async (transaction, { source, target }) => {
      await conditions.assertPreconditions(source);
      const { entry } = source;
      if (entry === undefined) throw notFound(from);
      if (entry.kind === "folder") throw isFolder(from);
      if (target.entry?.kind === "folder")
        throw new Fault("InvalidInput", "a folder exists at this path; choose another", { path: to });
      if (source.path === target.path) return false;
      const created = target.entry === undefined;
      const affected = created ? await this.#firstMissing(target) : target.path;
      await this.#assertUnlocked(
        conditions,
        { path: source.path, recursive: false, changesParent: true },
        { path: affected, recursive: false, changesParent: created },
      );
      await transaction.move(entry, target.path, { makeParents: true, signal: neverAborted });
      await this.#moveMetadata(source.path, target.path);
      return true;
    });
  }

  /** move moves a file or folder to a path that is neither above nor below it. */
  async move(from: TreePath, to: TreePath, options: TransferOptions): Promise<TransferResult> {
    const { signal } = options;
    return this.#transfer({ source: from, target: to }, { ...options, removesSource: true }, async (work) => {
      const { transaction, entry, target } = work;
      const failures = await transaction.move(entry, target, { makeParents: false, signal });
      if (failures.length === 0) await this.#moveMetadata(entry.path, target);
      return failures;
    });
  }

  /** copy copies a file, or a folder (with its content if `recursive`), to a path that is neither above nor below it. */
  async copy(
    from: TreePath,
    to: TreePath,
    options: TransferOptions & { readonly recursive: boolean },
  ): Promise<TransferResult> {
    const { recursive, signal } = options;
    return this.#transfer(
      { source: from, target: to },
      { ...options, removesSource: false },
      async (work) => {
        const { transaction, entry, target } = work;
        const failures = await transaction.copy(entry, target, { recursive, signal });
        await this.properties.copy(entry.path, target, { recursive });
        return failures;
      },
    );
  }

  /** describe changes dead properties and times of a resource; NotFound when there is none. */
  async describe(
    path: TreePath,
    { properties, times }: Description,
    conditions: WriteConditions,
  ): Promise<void> {
    await this.#change(path, conditions, async (transaction, target) => {
      if (target.entry === undefined) throw notFound(path);
      await this.#assertUnlocked(conditions, { path: target.path, recursive: false, changesParent: false });
      if (properties.size > 0) await this.properties.change(target.path, properties);
      if (times.modified !== undefined || times.accessed !== undefined)
        await transaction.setTimes(target.entry, times);
    });
  }

  /** lock takes a lock. Where nothing exists, an empty file is created (RFC 4918 §7.3). */
  async lock(
    path: TreePath,
    wanted: Omit<Lock, "path">,
    conditions: WriteConditions,
  ): Promise<{ readonly lock: Lock; readonly created: boolean }> {
    return this.#change(path, conditions, async (transaction, target) => {
      const created = target.entry === undefined;
      if (created)
        await this.#assertUnlocked(conditions, { path: target.path, recursive: false, changesParent: true });
      const lock = await this.locks.take({ ...wanted, path: target.path });
      if (!created) return { lock, created };
      try {
        await using staged = await this.stage(new Uint8Array(), target.path);
        await transaction.place(staged, target.path, { makeParents: false });
        await this.properties.forget(target.path);
        return { lock, created };
      } catch (error) {
        await this.locks.release(lock);
        throw error;
      }
    });
  }

  async #transfer(
    paths: SourceAndTarget<TreePath>,
    { overwrite, conditions, signal, removesSource }: TransferOptions & { readonly removesSource: boolean },
    work: (transfer: {
      readonly transaction: WriteTransaction;
      readonly entry: FileEntry;
      readonly target: TreePath;
    }) => Promise<readonly Failure[]>,
  ): Promise<TransferResult> {
    return this.#store.transactBoth(paths, async (transaction, { source, target }) => {
      await conditions.assertPreconditions(source);
      const [from, to] = [source.path, target.path];
      if (from === to || isBelow(from, to) || isBelow(to, from)) return "overlap";
      // The client may have left while this waited for its turn.
      signal.throwIfAborted();
      if (source.entry === undefined) throw notFound(paths.source);
      const replaced = target.entry !== undefined;
      const affected: AffectedPath[] = [{ path: to, recursive: true, changesParent: !replaced }];
      if (removesSource) affected.push({ path: from, recursive: true, changesParent: true });
      await this.#assertUnlocked(conditions, ...affected);
      if (replaced && !overwrite) return "exists";
      const failures = await work({ transaction, entry: source.entry, target: to });
      // The lock on a replaced resource stays, for clients that save by rename; what was below it is gone.
      if (failures.length === 0) await this.locks.forgetBelow(to);
      return { replaced, failures };
    });
  }

  /** The highest missing ancestor of a path that does not exist. Creating it is what changes an existing folder, so its lock is the one to check. */
  async #firstMissing({ path, parent }: ResolvedPath): Promise<TreePath> {
    let first = path;
    let exists = parent !== undefined;
    for (let at = splitPath(path).folder; at !== treeRoot && !exists; at = splitPath(at).folder) {
      first = at;
      exists = (await this.reader.find(splitPath(at).folder)) !== undefined;
    }
    return first;
  }

  async #change<T>(
    path: TreePath,
    conditions: WriteConditions,
    work: (transaction: WriteTransaction, target: ResolvedPath) => Promise<T>,
  ): Promise<T> {
    return this.#store.transact(path, async (transaction, target) => {
      await conditions.assertPreconditions(target);
      return work(transaction, target);
    });
  }

  #assertUnlocked(conditions: WriteConditions, ...affected: readonly AffectedPath[]): Promise<void> {
    return assertUnlocked(this.locks, conditions, affected);
  }

  /** RFC 4918 §7.6: a MOVE takes the properties along; the locks of the source end. */
  async #moveMetadata(from: TreePath, to: TreePath): Promise<void> {
    await this.properties.move(from, to);
    await this.locks.forget(from);
  }

  async #forget(path: TreePath): Promise<void> {
    await this.properties.forget(path);
    await this.locks.forget(path);
  }
}
