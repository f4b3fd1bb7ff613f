import type { DatabaseTransaction } from "../db/dialect.ts";
import {
  type AffectedPath,
  covers,
  holdsLock,
  type Lock,
  type LockHolder,
  mayUseLock,
} from "./metadata/locks.ts";
import { forgetMetadata, type Metadata, moveMetadata } from "./metadata/metadata.ts";
import { isBelow, splitPath, type TreePath, treeRoot } from "./path.ts";
import {
  type BucketView,
  type Failure,
  type FileEntry,
  type FileReader,
  type FileStats,
  type FileVersion,
  fileAbove,
  folderExists,
  isFolder,
  notFound,
  ParentMissing,
  type PutOptions,
  type RecordOf,
  type ResolvedPath,
  type StagedFile,
  type Times,
  type TreeFiles,
  type VersionName,
  type Versions,
  type WriteTransaction,
} from "./ports.ts";
import { SiteFiles } from "./site-files.ts";
import { firstEntries } from "./tree-ops.ts";
import { assertConditions, type WriteConditions } from "./write-conditions.ts";

/** WrittenFile is a file that was put in place. */
export interface WrittenFile {
  /** Whether nothing was there before. */
  readonly created: boolean;
  readonly stats: FileStats;
}

export interface WriteOptions extends PutOptions {
  readonly conditions: WriteConditions;
  /**
   * Called in the turn of the change. In a store whose names are rows, that is the transaction of the database that names the file, and
   * if it throws, nothing is changed. Without one, the file is in place already.
   */
  readonly onWritten?: (written: WrittenFile, transaction: DatabaseTransaction | undefined) => Promise<void>;
}

/** TransferOptions are those of a COPY or MOVE. */
interface TransferOptions {
  /** Whether what exists at the target is replaced. */
  readonly overwrite: boolean;
  readonly conditions: WriteConditions;
  /** Ends a copy that nobody waits for any more; what it made so far is removed. */
  readonly signal: AbortSignal;
}

/**
 * TransferResult of a COPY or MOVE: `exists` is a target that must not be overwritten, `overlap` is a path at, above or below the
 * other.
 */
type TransferResult =
  | { readonly replaced: boolean; readonly failures: readonly Failure[] }
  | "exists"
  | "overlap";

/** Description is what PROPPATCH changes of a resource. */
interface Description {
  /** By `{namespace}name`; undefined removes a property. */
  readonly properties: ReadonlyMap<string, string | undefined>;
  readonly times: Times;
}

const neverAborted = new AbortController().signal;

/** FileActivity counts the work that is under way in all buckets. */
export interface FileActivity {
  /** Files whose content is arriving. */
  uploads: number;
}

/** countUpload counts an upload while its content arrives. */
export async function countUpload<T>(activity: FileActivity, receive: () => Promise<T>): Promise<T> {
  activity.uploads += 1;
  try {
    return await receive();
  } finally {
    activity.uploads -= 1;
  }
}

/**
 * BucketFiles is the one way to change the files of a bucket, for every protocol: in turn for each path, conditions and locks checked in
 * that turn, properties and locks moved or deleted with their resource. Beside the errors of the store, a change throws LockedFault and
 * whatever its conditions throw; then nothing was changed.
 */
export class BucketFiles implements BucketView {
  readonly reader: FileReader;
  readonly metadata: Metadata;
  /** Takes, refreshes and releases locks. */
  readonly locking: BucketLocks;
  /** What was deleted or replaced and can be restored. */
  readonly versions: Versions;
  /** The rules by which its files are served over HTTP. */
  readonly site: SiteFiles;
  readonly #tree: TreeFiles;
  readonly #activity: FileActivity;

  constructor(tree: TreeFiles, metadata: Metadata, activity: FileActivity = { uploads: 0 }) {
    this.#tree = tree;
    this.#activity = activity;
    this.reader = tree.reader;
    this.metadata = metadata;
    this.versions = tree.versions;
    this.locking = new BucketLocks(tree, metadata);
    this.site = new SiteFiles(tree.reader);
  }

  /** stage stores uploaded content outside of the bucket; `write` puts it in place, with the record that it is to have. */
  stage(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    path: TreePath,
    record?: RecordOf,
  ): Promise<StagedFile> {
    return countUpload(this.#activity, () => this.#tree.stage(content, path, record));
  }

  /** examine throws what `write` would throw now, before a client sends a large body for it. */
  async examine(
    resolved: ResolvedPath,
    {
      conditions,
      makeParents,
    }: Pick<WriteOptions, "conditions"> & Partial<Pick<WriteOptions, "makeParents">>,
  ): Promise<void> {
    if (makeParents !== undefined) assertCanPut(resolved, { makeParents });
    await assertConditions(conditions, resolved, this);
    const { path, entry } = resolved;
    await this.metadata.locks.assertUnlocked(conditions.holder, { path, changesParent: entry === undefined });
  }

  /**
   * write puts a staged file in place, atomically.
   */
  async write(
    path: TreePath,
    staged: StagedFile,
    { conditions, onWritten, ...options }: WriteOptions,
  ): Promise<WrittenFile> {
    return this.#tree.transact([path], async (transaction, [target]) => {
      assertCanPut(target, options);
      await assertConditions(conditions, target, transaction);
      const created = target.entry === undefined;
      const affected =
        created && options.makeParents ? await firstMissing(transaction.reader, target) : target.path;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: affected,
        changesParent: created,
      });
      if (created) await forgetMetadata(transaction.metadata, target.path);
      const written = { created, stats: await transaction.put(staged, target.path, options) };
      const { record } = staged;
      const { etag, record: kept } = written.stats;
      if (record !== undefined && !(created && kept !== undefined))
        await transaction.metadata.properties.keepRecord(target.path, {
          etag,
          record,
          isStored: kept !== undefined,
        });
      await onWritten?.(written, transaction.database);
      return written;
    });
  }

  /** makeFolder is false when something exists at the path. */
  async makeFolder(path: TreePath, times: Times, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target) => {
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: true,
      });
      if (!(await transaction.makeFolder(target.path, times))) return false;
      await forgetMetadata(transaction.metadata, target.path);
      return true;
    });
  }

  /** removeFile removes a file, and is false if there is none; it throws InvalidInput for a folder. */
  async removeFile(path: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target) => {
      const { entry } = target;
      if (entry === undefined) return false;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: true,
      });
      if (entry.kind === "folder") throw isFolder(target.path);
      await transaction.remove(entry);
      await forgetMetadata(transaction.metadata, target.path);
      return true;
    });
  }

  /** removeEmptyFolder removes a folder, and is false if there is none, or if it contains something. */
  async removeEmptyFolder(path: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, { entry, path: at }) => {
      if (entry?.kind !== "folder") return false;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, { path: at, changesParent: true });
      if ((await firstEntries(transaction.reader, at)).length > 0) return false;
      const [failure] = await transaction.remove(entry);
      if (failure !== undefined) throw failure.fault;
      await forgetMetadata(transaction.metadata, at);
      return true;
    });
  }

  /** remove removes a file, or a folder with its content, and returns what could not be removed. */
  async remove(path: TreePath, conditions: WriteConditions): Promise<readonly Failure[]> {
    return this.#change(path, conditions, async (transaction, target) => {
      if (target.entry === undefined) throw notFound(path);
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        recursive: true,
        changesParent: true,
      });
      const failures = await transaction.remove(target.entry);
      if (failures.length === 0) await forgetMetadata(transaction.metadata, target.path);
      return failures;
    });
  }

  /** renameFile moves a file, in place of the file at `to`. Missing folders above `to` are created. False if both are the same file. */
  async renameFile(from: TreePath, to: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#tree.transact([from, to], async (transaction, [source, target]) => {
      await assertConditions(conditions, source, transaction);
      const { entry } = source;
      if (entry === undefined) throw notFound(from);
      if (entry.kind === "folder") throw isFolder(from);
      if (target.entry?.kind === "folder") throw folderExists(to);
      if (source.path === target.path) return false;
      const created = target.entry === undefined;
      const affected = created ? await firstMissing(transaction.reader, target) : target.path;
      await transaction.metadata.locks.assertUnlocked(
        conditions.holder,
        { path: source.path, changesParent: true },
        { path: affected, changesParent: created },
      );
      await transaction.move(entry, target.path, { makeParents: true, signal: neverAborted });
      await moveMetadata(transaction.metadata, source.path, target.path);
      return true;
    });
  }

  /** move moves a file or folder to a path that is neither above nor below it. */
  async move(from: TreePath, to: TreePath, options: TransferOptions): Promise<TransferResult> {
    const { signal } = options;
    return this.#transfer([from, to], { ...options, removesSource: true }, async (work) => {
      const { transaction, entry, target } = work;
      const failures = await transaction.move(entry, target, { makeParents: false, signal });
      if (failures.length === 0) await moveMetadata(transaction.metadata, entry.path, target);
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
    return this.#transfer([from, to], { ...options, removesSource: false }, async (work) => {
      const { transaction, entry, target } = work;
      const failures = await transaction.copy(entry, target, { recursive, signal });
      await transaction.metadata.properties.copy(entry.path, target, { recursive });
      return failures;
    });
  }

  /** describe changes dead properties and times of a resource; NotFound when there is none. */
  async describe(
    path: TreePath,
    { properties, times }: Description,
    conditions: WriteConditions,
  ): Promise<void> {
    await this.#change(path, conditions, async (transaction, target) => {
      if (target.entry === undefined) throw notFound(path);
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: false,
      });
      if (properties.size > 0) await transaction.metadata.properties.change(target.path, properties);
      if (times.modified !== undefined || times.accessed !== undefined)
        await transaction.setTimes(target.entry, times);
    });
  }

  /**
   * restoreVersion puts a version back, at its path or another one. A file takes the place of the file there; a folder needs a
   * free path.
   */
  async restoreVersion(
    wanted: VersionName,
    to: TreePath,
    conditions: WriteConditions,
  ): Promise<FileVersion["kind"]> {
    return this.#change(to, conditions, async (transaction, target) => {
      const created = target.entry === undefined;
      const affected = created ? await firstMissing(transaction.reader, target) : target.path;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: affected,
        changesParent: created,
      });
      const kind = await transaction.restoreVersion(wanted, target.path);
      if (created) await forgetMetadata(transaction.metadata, target.path);
      return kind;
    });
  }

  /** Runs `work` on a path in its turn, if the preconditions hold then. */
  #change<T>(
    path: TreePath,
    conditions: WriteConditions,
    work: (transaction: WriteTransaction, target: ResolvedPath) => Promise<T>,
  ): Promise<T> {
    return this.#tree.transact([path], async (transaction, [target]) => {
      await assertConditions(conditions, target, transaction);
      return work(transaction, target);
    });
  }

  async #transfer(
    paths: readonly [from: TreePath, to: TreePath],
    { overwrite, conditions, signal, removesSource }: TransferOptions & { readonly removesSource: boolean },
    work: (transfer: {
      readonly transaction: WriteTransaction;
      readonly entry: FileEntry;
      readonly target: TreePath;
    }) => Promise<readonly Failure[]>,
  ): Promise<TransferResult> {
    return this.#tree.transact(paths, async (transaction, [source, target]) => {
      await assertConditions(conditions, source, transaction);
      const [from, to] = [source.path, target.path];
      if (from === to || isBelow(from, to) || isBelow(to, from)) return "overlap";
      // The client may have left while this waited for its turn.
      signal.throwIfAborted();
      if (source.entry === undefined) throw notFound(paths[0]);
      const replaced = target.entry !== undefined;
      const affected: AffectedPath[] = [{ path: to, recursive: true, changesParent: !replaced }];
      if (removesSource) affected.push({ path: from, recursive: true, changesParent: true });
      await transaction.metadata.locks.assertUnlocked(conditions.holder, ...affected);
      if (replaced && !overwrite) return "exists";
      const failures = await work({ transaction, entry: source.entry, target: to });
      // The lock on a replaced resource stays, for clients that save by rename; what was below it is gone.
      if (failures.length === 0) await transaction.metadata.locks.forgetBelow(to);
      return { replaced, failures };
    });
  }
}

/** assertCanPut throws where no file can be put: a folder exists there, or what is above is not a folder. */
function assertCanPut(
  { path, entry, parent }: ResolvedPath,
  { makeParents }: Pick<PutOptions, "makeParents">,
): void {
  if (entry?.kind === "folder") throw folderExists(path);
  if (parent?.kind === "file") throw fileAbove(path);
  if (parent === undefined && !makeParents) throw new ParentMissing(path);
}

/**
 * The highest missing ancestor of a path that does not exist. Creating it is what changes an existing folder, so its lock is the
 * one to check.
 */
async function firstMissing(reader: FileReader, { path, parent }: ResolvedPath): Promise<TreePath> {
  let first = path;
  let exists = parent !== undefined;
  for (let at = splitPath(path).folder; at !== treeRoot && !exists; at = splitPath(at).folder) {
    first = at;
    exists = (await reader.find(splitPath(at).folder)) !== undefined;
  }
  return first;
}

/** WantedLock is a lock to be taken. */
interface WantedLock extends Omit<Lock, "path" | "until"> {
  /** How long it is valid. */
  readonly timeoutMs: number;
}

/** LockConditions are those of a caller that knows locks. */
type LockConditions = WriteConditions & { readonly holder: LockHolder };

interface Release {
  readonly token: string;
  readonly conditions: LockConditions;
}

/** BucketLocks takes, refreshes and releases the WebDAV locks of a bucket (RFC 4918 §6). Times of expiry are by the store's clock. */
class BucketLocks {
  readonly #tree: TreeFiles;
  readonly #metadata: Metadata;

  constructor(tree: TreeFiles, metadata: Metadata) {
    this.#tree = tree;
    this.#metadata = metadata;
  }

  /**
   * acquire takes a lock. Where nothing exists, an empty file is created (RFC 4918 §7.3). Throws LockedFault when another lock conflicts,
   * TooManyLocksFault when a limit is reached, and whatever the conditions throw.
   */
  async acquire(
    path: TreePath,
    { timeoutMs, ...wanted }: WantedLock,
    conditions: WriteConditions,
  ): Promise<{ readonly lock: Lock; readonly created: boolean }> {
    if (this.#metadata.locks.isSweepDue(wanted.holder))
      await this.#tree.transactMetadata(({ metadata }) => metadata.locks.sweep());
    return this.#tree.transact([path], async (transaction, [target]) => {
      await assertConditions(conditions, target, transaction);
      const { locks, properties } = transaction.metadata;
      const created = target.entry === undefined;
      if (created) await locks.assertUnlocked(conditions.holder, { path: target.path, changesParent: true });
      const lock = await locks.acquire({ ...wanted, path: target.path, until: locks.now() + timeoutMs });
      if (!created) return { lock, created };
      try {
        await transaction.makeFile(target.path);
        await properties.forget(target.path);
        return { lock, created };
      } catch (error) {
        await locks.release(lock);
        throw error;
      }
    });
  }

  /** refresh makes a lock on or above a path, which the caller holds, valid for `timeoutMs` from now. Undefined if there is none. */
  async refresh(path: TreePath, timeoutMs: number, conditions: LockConditions): Promise<Lock | undefined> {
    return this.#tree.transactMetadata(async (view) => {
      const covering = await this.#covering(view, path, conditions);
      const held = covering.find((lock) => holdsLock(conditions.holder, lock));
      const { locks } = view.metadata;
      return held && (await locks.refresh(held, locks.now() + timeoutMs));
    });
  }

  /** release ends a lock on or above a path. */
  async release(
    path: TreePath,
    { token, conditions }: Release,
  ): Promise<"released" | "missing" | "forbidden"> {
    return this.#tree.transactMetadata(async (view) => {
      const held = (await this.#covering(view, path, conditions)).find((lock) => lock.token === token);
      if (held === undefined) return "missing";
      if (!mayUseLock(conditions.holder, held)) return "forbidden";
      await view.metadata.locks.release(held);
      return "released";
    });
  }

  async #covering(view: BucketView, path: TreePath, conditions: WriteConditions): Promise<Lock[]> {
    const target: ResolvedPath = await view.reader.resolve(path);
    await assertConditions(conditions, target, view);
    const around = await view.metadata.locks.around(target.path);
    return around.filter((lock) => covers(lock, target.path));
  }
}
