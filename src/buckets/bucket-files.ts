import { forEachConcurrently } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import { nextTurn } from "../base/turns.ts";
import type { DatabaseTransaction } from "../db/dialect.ts";
import type { FileChange } from "./events.ts";
import { isTaken } from "./history/faults.ts";
import {
  type AffectedPath,
  covers,
  holdsLock,
  type Lock,
  type LockHolder,
  mayUseLock,
} from "./metadata/locks.ts";
import { forgetMetadata, type Metadata, moveMetadata } from "./metadata/metadata.ts";
import { isBelow, splitPath, type TreePath, treeRoot, withAncestors } from "./path.ts";
import {
  type BucketView,
  type Failure,
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
  type Removal,
  type ResolvedPath,
  type ResolvedPaths,
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
  /** Whether missing folders above the target are created; default: false. */
  readonly makeParents?: boolean;
  /** Ends a copy that nobody waits for any more; what it made so far is removed. */
  readonly signal: AbortSignal;
}

/** Outcome is what became of one of many changes: `fault` says why nothing, or not everything, was done. */
export type Outcome<T> = { readonly done: T } | { readonly fault: Fault };

interface ManyOptions {
  readonly conditions: ManyConditions;
  /** Asked before each group but the first: true ends the changes there. */
  readonly isOver: () => boolean;
}

/** ManyConditions are those that hold for all paths of a call. */
type ManyConditions = Pick<WriteConditions, "grant" | "holder">;

/** PathPair is where something is and where it is to be. */
export interface PathPair {
  readonly from: TreePath;
  readonly to: TreePath;
}

/** WantedVersion is a version and the path at which it is to be restored. */
export interface WantedVersion extends VersionName {
  readonly to: TreePath;
}

/** ManyChange is one change of many, in the turn of a group of them. */
interface ManyChange<I, T> {
  readonly pathsOf: (item: I) => readonly TreePath[];
  run(turn: Turn, item: I, resolved: readonly ResolvedPath[]): Promise<T>;
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

/** Changes of one group, which have one turn: others wait for some ten milliseconds at most. */
const maxPerGroup = 128;
/** Changes of a group that a disk makes at once: they share the syncs of their folders. */
const maxAtOnce = 32;

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
  /** Queues changes for those who must hear of each; undefined if nobody must. */
  readonly queue: QueueChanges | undefined;
  readonly #tree: TreeFiles;
  readonly #activity: FileActivity;

  constructor(
    tree: TreeFiles,
    metadata: Metadata,
    activity: FileActivity = { uploads: 0 },
    queue?: QueueChanges,
  ) {
    this.#tree = tree;
    this.#activity = activity;
    this.queue = queue;
    this.reader = tree.reader;
    this.metadata = metadata;
    this.versions = tree.versions;
    this.locking = new BucketLocks({ tree, queue }, metadata);
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
    return this.#run([path], async (transaction, [target], changes) => {
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
      const { stats } = written;
      // The properties of an earlier file are forgotten already.
      const isNew = created && (staged.record === undefined || stats.record !== undefined);
      if (!isNew) await transaction.metadata.properties.keepRecord(target.path, stats, staged.record);
      await onWritten?.(written, transaction.database);
      changes.push(changeTo(target, conditions));
      return written;
    });
  }

  /** makeFolder is false when something exists at the path. */
  async makeFolder(path: TreePath, times: Times, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target, changes) => {
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: true,
      });
      if (!(await transaction.makeFolder(target.path, times))) return false;
      await forgetMetadata(transaction.metadata, target.path);
      changes.push({ ...changeTo(target, conditions), folder: true });
      return true;
    });
  }

  /** removeFile removes a file, and is false if there is none; it throws InvalidInput for a folder. */
  async removeFile(path: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target, changes) => {
      const { entry } = target;
      if (entry === undefined) return false;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: true,
      });
      if (entry.kind === "folder") throw isFolder(target.path);
      await transaction.remove(entry);
      await forgetMetadata(transaction.metadata, target.path);
      changes.push({ ...changeTo(target, conditions), event: "deleted" });
      return true;
    });
  }

  /** removeEmptyFolder removes a folder, and is false if there is none, or if it contains something. */
  async removeEmptyFolder(path: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#change(path, conditions, async (transaction, target, changes) => {
      const { entry, path: at } = target;
      if (entry?.kind !== "folder") return false;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, { path: at, changesParent: true });
      if ((await firstEntries(transaction.reader, at)).length > 0) return false;
      assertWhole((await transaction.remove(entry)).failures);
      await forgetMetadata(transaction.metadata, at);
      changes.push({ ...changeTo(target, conditions), event: "deleted" });
      return true;
    });
  }

  /** remove removes a file, or a folder with its content, and returns what could not be removed. */
  async remove(path: TreePath, conditions: WriteConditions): Promise<readonly Failure[]> {
    return this.#change(path, conditions, async (transaction, target, changes) => {
      const turn = { transaction, metadata: transaction.metadata, changes };
      return (await this.#remove(turn, target, conditions)).failures;
    });
  }

  /** removeMany removes files, and folders with their content. It returns the outcomes of as many as it got to. */
  removeMany(paths: readonly TreePath[], options: ManyOptions): Promise<ReadonlyArray<Outcome<Removal>>> {
    return this.#changeMany(paths, options, {
      pathsOf: (path) => [path],
      run: async (turn, _, [target]) => {
        const removal = await this.#remove(turn, target as ResolvedPath, options.conditions);
        assertWhole(removal.failures);
        return removal;
      },
    });
  }

  async #remove(
    { transaction, metadata, changes }: Turn,
    target: ResolvedPath,
    conditions: WriteConditions,
  ): Promise<Removal> {
    const { path, requested, entry } = target;
    if (entry === undefined) throw notFound(requested);
    await metadata.locks.assertUnlocked(conditions.holder, { path, recursive: true, changesParent: true });
    const removal = await transaction.remove(entry);
    const isWhole = removal.failures.length === 0;
    if (isWhole) await forgetMetadata(metadata, path);
    changes.push({ ...changeTo(target, conditions), event: isWhole ? "deleted" : "changed" });
    return removal;
  }

  /** renameFile moves a file, in place of the file at `to`. Missing folders above `to` are created. False if both are the same file. */
  async renameFile(from: TreePath, to: TreePath, conditions: WriteConditions): Promise<boolean> {
    return this.#run([from, to], async (transaction, [source, target], changes) => {
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
      changes.push(movedTo(target.path, source, conditions));
      return true;
    });
  }

  /** move moves a file or folder to a path that is neither above nor below it. */
  async move(from: TreePath, to: TreePath, options: TransferOptions): Promise<TransferResult> {
    return this.#transferOne({ from, to }, options, "move");
  }

  /**
   * moveMany moves files and folders, each to a path that is neither above nor below it. It returns the outcomes of as many as it got to.
   */
  moveMany(
    moves: readonly PathPair[],
    options: ManyOptions & TransferOptions,
  ): Promise<ReadonlyArray<Outcome<void>>> {
    return this.#transferMany(moves, options, "move");
  }

  /** copyMany does for copies, of folders with their content, what `moveMany` does for moves. */
  copyMany(
    copies: readonly PathPair[],
    options: ManyOptions & TransferOptions,
  ): Promise<ReadonlyArray<Outcome<void>>> {
    return this.#transferMany(copies, options, "copy");
  }

  /** copy copies a file, or a folder (with its content if `recursive`), to a path that is neither above nor below it. */
  async copy(
    from: TreePath,
    to: TreePath,
    options: TransferOptions & { readonly recursive: boolean },
  ): Promise<TransferResult> {
    return this.#transferOne({ from, to }, options, options.recursive ? "copy" : "copyAlone");
  }

  /** describe changes dead properties and times of a resource; NotFound when there is none. */
  async describe(
    path: TreePath,
    { properties, times }: Description,
    conditions: WriteConditions,
  ): Promise<void> {
    await this.#change(path, conditions, async (transaction, target, changes) => {
      if (target.entry === undefined) throw notFound(path);
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: target.path,
        changesParent: false,
      });
      const stored = transaction.metadata.properties;
      if (properties.size > 0) await stored.change(target.path, properties);
      if (times.modified === undefined && times.accessed === undefined) return;
      const record =
        target.entry.kind === "file" ? await stored.recordOf(target.path, target.entry.stats) : undefined;
      await transaction.setTimes(target.entry, times);
      const now = record && (await transaction.reader.find(target.path));
      if (now !== undefined) await stored.keepRecord(target.path, now.stats, record);
      changes.push(changeTo(target, conditions));
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
    return this.#change(to, conditions, async (transaction, target, changes) => {
      const created = target.entry === undefined;
      const affected = created ? await firstMissing(transaction.reader, target) : target.path;
      await transaction.metadata.locks.assertUnlocked(conditions.holder, {
        path: affected,
        changesParent: created,
      });
      const kind = await transaction.restoreVersion(wanted, target.path);
      if (created) await forgetMetadata(transaction.metadata, target.path);
      changes.push(restoredTo(target, kind, conditions));
      return kind;
    });
  }

  /** restoreMany puts versions back, each at a path that must be free. It returns the outcomes of as many as it got to. */
  restoreMany(
    wanted: readonly WantedVersion[],
    options: ManyOptions,
  ): Promise<ReadonlyArray<Outcome<FileVersion["kind"]>>> {
    return this.#changeMany(wanted, options, {
      // A version that lies in a folder is found by the path that it had.
      pathsOf: ({ to, path }) => [to, path],
      run: async ({ transaction, metadata, changes }, { version, path: from }, [target]) => {
        const { path, entry } = target as ResolvedPath;
        if (entry !== undefined) throw isTaken(path);
        const affected = await firstMissing(transaction.reader, target as ResolvedPath);
        await metadata.locks.assertUnlocked(options.conditions.holder, {
          path: affected,
          changesParent: true,
        });
        const kind = await transaction.restoreVersion({ version, path: from }, path);
        await forgetMetadata(metadata, path);
        changes.push(restoredTo(target as ResolvedPath, kind, options.conditions));
        return kind;
      },
    });
  }

  /** Runs `work` on a path in its turn, if the preconditions hold then. */
  #change<T>(
    path: TreePath,
    conditions: WriteConditions,
    work: (transaction: WriteTransaction, target: ResolvedPath, changes: FileChange[]) => Promise<T>,
  ): Promise<T> {
    return this.#run([path], async (transaction, [target], changes) => {
      await assertConditions(conditions, target, transaction);
      return work(transaction, target, changes);
    });
  }

  #run<const P extends readonly TreePath[], T>(paths: P, work: ChangeWork<P, T>): Promise<T> {
    return runChange({ tree: this.#tree, queue: this.queue }, paths, work);
  }

  #transferOne(
    { from, to }: PathPair,
    options: TransferOptions,
    kind: TransferKind,
  ): Promise<TransferResult> {
    return this.#run([from, to], (transaction, [source, target], changes) => {
      const { metadata } = transaction;
      return this.#transfer({ transaction, metadata, changes, kind }, [source, target], options);
    });
  }

  #transferMany(
    pairs: readonly PathPair[],
    options: ManyOptions & TransferOptions,
    kind: TransferKind,
  ): Promise<ReadonlyArray<Outcome<void>>> {
    return this.#changeMany(pairs, options, {
      pathsOf: ({ from, to }) => [from, to],
      run: async (turn, { to }, [source, target]) => {
        const resolved = [source as ResolvedPath, target as ResolvedPath] as const;
        const done = await this.#transfer({ ...turn, kind }, resolved, {
          ...options,
          conditions: {
            ...options.conditions,
            // The right was checked for the whole group, in its turn.
            grant: { by: options.conditions.grant.by, assertStillValid: async () => {} },
          },
        });
        if (done === "exists") throw isTaken(to);
        if (done === "overlap") throw overlaps(to);
        assertWhole(done.failures);
      },
    });
  }

  async #transfer(
    { transaction, metadata, changes, kind }: Turn & { readonly kind: TransferKind },
    [source, target]: readonly [source: ResolvedPath, target: ResolvedPath],
    { overwrite, makeParents = false, conditions, signal }: TransferOptions,
  ): Promise<TransferResult> {
    await assertConditions(conditions, source, transaction);
    const [from, to] = [source.path, target.path];
    if (from === to || isBelow(from, to) || isBelow(to, from)) return "overlap";
    // The client may have left while this waited for its turn.
    signal.throwIfAborted();
    const { entry } = source;
    if (entry === undefined) throw notFound(source.requested);
    const replaced = target.entry !== undefined;
    const at = replaced || !makeParents ? to : await firstMissing(transaction.reader, target);
    const affected: AffectedPath[] = [{ path: at, recursive: true, changesParent: !replaced }];
    if (kind === "move") affected.push({ path: from, recursive: true, changesParent: true });
    await metadata.locks.assertUnlocked(conditions.holder, ...affected);
    if (replaced && !overwrite) return "exists";
    const recursive = kind !== "copyAlone";
    const failures =
      kind === "move"
        ? await transaction.move(entry, to, { makeParents, signal })
        : await transaction.copy(entry, to, { recursive, makeParents, signal });
    if (kind !== "move") await metadata.properties.copy(from, to, { recursive });
    else if (failures.length === 0) await moveMetadata(metadata, from, to);
    // The lock on a replaced resource stays, for clients that save by rename; what was below it is gone.
    if (failures.length === 0) await metadata.locks.forgetBelow(to);
    if (kind === "move" && failures.length === 0) changes.push(movedTo(to, source, conditions));
    else changes.push({ ...changeTo(target, conditions), folder: folderOf(source) });
    // A copy may be there beside what could not be removed.
    if (kind === "move" && failures.length > 0) changes.push(changeTo(source, conditions));
    return { replaced, failures };
  }

  /** Runs changes in groups, each in one turn, until the options say that it is over. A failure of the first group is thrown. */
  async #changeMany<I, T>(
    items: readonly I[],
    { conditions, isOver }: ManyOptions,
    change: ManyChange<I, T>,
  ): Promise<ReadonlyArray<Outcome<T>>> {
    const outcomes: Outcome<T>[] = [];
    while (outcomes.length < items.length) {
      if (outcomes.length > 0) {
        await nextTurn();
        if (isOver()) break;
      }
      const group = firstApart(items, outcomes.length, change.pathsOf);
      try {
        outcomes.push(...(await this.#changeGroup(group, conditions, change)));
      } catch (error) {
        // What the earlier groups did is to be answered. Whoever goes on from there gets the error.
        if (outcomes.length === 0) throw error;
        break;
      }
    }
    return outcomes;
  }

  async #changeGroup<I, T>(
    group: readonly I[],
    conditions: ManyConditions,
    change: ManyChange<I, T>,
  ): Promise<Outcome<T>[]> {
    const paths = group.map(change.pathsOf);
    const done = await this.#run(paths.flat(), async (transaction, all, changes) => {
      const rest = [...all];
      const resolved = paths.map(({ length }) => rest.splice(0, length));
      const found = resolved.map((some) => some.map(({ path }) => path));
      // By links, or by Unicode forms of names, two paths can lead to one resource.
      if (group.length > 1 && firstApart(found, 0, (some) => some).length < group.length) return undefined;
      await conditions.grant.assertStillValid();
      const turn = { transaction, metadata: transaction.metadata.inTurn(), changes };
      const outcomes: Outcome<T>[] = [];
      // A transaction undoes all of a group. On a disk what is done stays, and is to be told and recorded whatever ends the group.
      const isUndone = transaction.database !== undefined;
      let problem: unknown;
      await forEachConcurrently(entriesOf(group), isUndone ? 1 : maxAtOnce, async ([at, item]) => {
        try {
          outcomes[at] = await outcomeOf(() => change.run(turn, item, resolved[at] ?? []));
        } catch (error) {
          if (isUndone) throw error;
          problem ??= error;
          outcomes[at] = { fault: error instanceof Fault ? error : hasEnded(error) };
        }
      });
      if (problem !== undefined && !outcomes.some((outcome) => "done" in outcome)) throw problem;
      return outcomes;
    });
    return done ?? this.#changeGroup(group.slice(0, 1), conditions, change);
  }
}

/** Turn is what a change of one path, or of many, runs with. */
interface Turn {
  readonly transaction: WriteTransaction;
  readonly metadata: Metadata;
  /** What followers of the bucket are told of it. */
  readonly changes: FileChange[];
}

/** ChangeWork is the work of a turn; it puts into `changes` what followers of the bucket are told. */
type ChangeWork<P extends readonly TreePath[], T> = (
  transaction: WriteTransaction,
  resolved: ResolvedPaths<P>,
  changes: FileChange[],
) => Promise<T>;

/** QueueChanges queues changes in the transaction that makes them, where there is one. */
export type QueueChanges = (
  changes: readonly FileChange[],
  transaction: DatabaseTransaction | undefined,
) => Promise<void>;

/** FollowedTree is a tree with those who must hear of each change of it. */
interface FollowedTree {
  readonly tree: TreeFiles;
  readonly queue: QueueChanges | undefined;
}

function runChange<const P extends readonly TreePath[], T>(
  { tree, queue }: FollowedTree,
  paths: P,
  work: ChangeWork<P, T>,
): Promise<T> {
  const changes: FileChange[] = [];
  const run = async (transaction: WriteTransaction, resolved: ResolvedPaths<P>) => {
    const result = await work(transaction, resolved, changes);
    if (changes.length > 0) await queue?.(changes, transaction.database);
    return result;
  };
  return tree.transact(paths, run, changes);
}

/** changeTo returns what is told of a path that was written: it is new if nothing was there. */
function changeTo(target: ResolvedPath, { grant }: Pick<WriteConditions, "grant">): FileChange {
  const event = target.entry === undefined ? "created" : "changed";
  return { event, path: target.path, folder: folderOf(target), by: grant.by };
}

function restoredTo(
  target: ResolvedPath,
  kind: FileVersion["kind"],
  conditions: Pick<WriteConditions, "grant">,
): FileChange {
  return { ...changeTo(target, conditions), folder: kind === "folder" ? true : undefined };
}

function movedTo(path: TreePath, source: ResolvedPath, { grant }: WriteConditions): FileChange {
  return { event: "moved", path, from: source.path, folder: folderOf(source), by: grant.by };
}

function folderOf({ entry }: ResolvedPath): true | undefined {
  return entry?.kind === "folder" ? true : undefined;
}

/** `copyAlone` is the copy of a folder without its content. */
type TransferKind = "move" | "copy" | "copyAlone";

/** firstApart returns items from `begin` on, as many as one group may have: none of their paths is another's, or above or below it. */
function firstApart<I>(
  items: readonly I[],
  begin: number,
  pathsOf: (item: I) => readonly TreePath[],
): readonly I[] {
  const taken = new Set<TreePath>();
  const above = new Set<TreePath>();
  let end = begin;
  for (; end < items.length && end - begin < maxPerGroup; end += 1) {
    const paths = pathsOf(items[end] as I);
    if (paths.some((path) => above.has(path) || withAncestors(path).some((at) => taken.has(at)))) break;
    for (const path of paths) {
      taken.add(path);
      for (const at of withAncestors(path)) above.add(at);
    }
  }
  return items.slice(begin, Math.max(end, begin + 1));
}

async function* entriesOf<T>(items: readonly T[]): AsyncGenerator<[at: number, item: T]> {
  yield* items.entries();
}

/** What went wrong with one of many is its outcome; a failure of the store or of the database is that of all. */
async function outcomeOf<T>(run: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { done: await run() };
  } catch (error) {
    if (error instanceof Fault && concernsOne.has(error.kind)) return { fault: error };
    throw error;
  }
}

/** Kinds of what can go wrong with one of many paths, and not with the others. */
const concernsOne: ReadonlySet<string> = new Set(["NotFound", "InvalidInput", "Other", "IoError"]);

function hasEnded(cause: unknown): Fault {
  return new Fault("Other", "the call ended before this was done", {}, { cause });
}

function assertWhole([failure]: readonly Failure[]): void {
  if (failure !== undefined) throw failure.fault;
}

function overlaps(path: TreePath): Fault {
  return new Fault(
    "InvalidInput",
    "a file or folder cannot be moved or copied into itself, or over what it is in",
    {
      path,
      reason: "path_taken",
    },
  );
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
  readonly #followed: FollowedTree;
  readonly #metadata: Metadata;

  constructor(followed: FollowedTree, metadata: Metadata) {
    this.#tree = followed.tree;
    this.#followed = followed;
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
    return runChange(this.#followed, [path], async (transaction, [target], changes) => {
      await assertConditions(conditions, target, transaction);
      const { locks, properties } = transaction.metadata;
      const created = target.entry === undefined;
      if (created) await locks.assertUnlocked(conditions.holder, { path: target.path, changesParent: true });
      const lock = await locks.acquire({ ...wanted, path: target.path, until: locks.now() + timeoutMs });
      if (!created) return { lock, created };
      try {
        await transaction.makeFile(target.path);
        await properties.forget(target.path);
        changes.push(changeTo(target, conditions));
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
