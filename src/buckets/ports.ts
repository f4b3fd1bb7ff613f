import { Fault } from "../base/fault.ts";
import type { DiskUsage } from "../base/local-fs/stat.ts";
import type { Content, HeldContent } from "../blobs/content.ts";
import type { DatabaseTransaction } from "../db/dialect.ts";
import type { Stamp } from "../db/freshness.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import type { DeployChanges } from "../db/rows/deploy-rows.ts";
import type { HeadValue } from "../db/rows/entry-values.ts";
import type { UploadPart } from "../db/rows/upload-rows.ts";
import type { FileChange, FilesStep } from "./events.ts";
import type { Metadata } from "./metadata/metadata.ts";
import { type TreePath, treeRoot } from "./path.ts";
import type { Bucket } from "./record.ts";

/** FileStats is what a store knows of one file or folder. Times are Unix milliseconds. */
export interface FileStats {
  /** In bytes. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly accessedMs: number;
  readonly createdMs: number;
  /** A strong entity tag (RFC 9110 §8.8.3), quotes included. That of a folder says nothing about what it contains. */
  readonly etag: string;
  /** Permission bits, where the store has them. */
  readonly mode?: number | undefined;
  /** SHA-256 of a file's content, in hexadecimal, if the store knows it without reading the content. */
  readonly sha256?: string | undefined;
  /** What a transport has stored with this content of a file (`TreeFiles.stage`); undefined if there is none. */
  readonly record?: Uint8Array | undefined;
  /** The time from which a further change is sure to give another `etag`; see `isSettled`. */
  readonly settledAtMs: number;
}

/**
 * etagOfContent returns the entity tag of a file whose SHA-256 is known: equal on all nodes, and after the same content is
 * uploaded again. In base64url it has 45 characters with its quotes; in hexadecimal it would have 66, which is too long for the
 * buffers in which some clients (neon's litmus) build If headers.
 */
export function etagOfContent(sha256: string): string {
  return `"${Buffer.from(sha256, "hex").toString("base64url")}"`;
}

/** isEtagOfContent returns whether an entity tag has the form of `etagOfContent`. Equal content has the same one then. */
export function isEtagOfContent(etag: string): boolean {
  return /^"[\w-]{43}"$/.test(etag);
}

/** isSettled returns whether content that was read after `etag` may be shared or cached under it. */
export function isSettled({ settledAtMs }: Pick<FileStats, "settledAtMs">): boolean {
  return Date.now() >= settledAtMs;
}

/** FileEntry is a file or folder as it was when the store read it. */
export interface FileEntry {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: FileStats;
  snapshot(): FileSnapshot;
}

/**
 * FolderChecks caches, by the store's own keys, whether folders and snapshots are unchanged. Its owner decides how long: one tick
 * of the event loop.
 */
export type FolderChecks = Map<string | FileSnapshot, boolean>;

/** FileSnapshot is the state of a path at one moment, "nothing there" included, to compare with its state now. */
export interface FileSnapshot {
  readonly settledAtMs: number;
  /**
   * isCurrent returns whether the path still has that state. Synchronous, because it runs on every request that is answered from
   * memory. `freshState` is the state of the bucket if the caller has just read it: then nothing that was known before counts.
   */
  isCurrent(checks: FolderChecks, freshState?: BucketState): boolean;
  /** The content, for the kernel to send, if the path still leads to the same file and the store can hold it open. Synchronous. */
  hold(): HeldContent | undefined;
}

/** ResolvedPath is a path of a request after one read of the store: resolve once, then carry it. */
export interface ResolvedPath {
  /** The path as requested, each name in the Unicode form that the store has. */
  readonly requested: TreePath;
  /** The one path of the resource, symbolic links among its folders resolved. Locks, properties and turns are by this path. */
  readonly path: TreePath;
  /** Undefined when nothing exists there. */
  readonly entry: FileEntry | undefined;
  /** What exists at the path of the folder above; undefined when nothing does, and for the bucket's own folder. */
  readonly parent: FileEntry | undefined;
}

/**
 * OpenFile is a file of a bucket, open for reading: its content stays readable whatever happens to its name. Reading fails with a Fault
 * when the store does. It is to be disposed once, or given away by `body`.
 */
export interface OpenFile extends Content {
  readonly stats: FileStats;
  /** Equal only for equal content, over all buckets, once the file is settled. */
  readonly contentKey: string;
  /** Whether the content would have to be fetched from another machine: what can be answered without it should be. */
  readonly isRemote?: boolean;
  /** Whether the same content was read a while ago: it may be worth keeping in memory. */
  readonly isReadAgain?: boolean;
  /**
   * Asks the store for the content, where it is not on a disk of this machine: a failure is an error here, and not a response
   * that breaks off. To be called before `body`.
   */
  prepare?(): Promise<void>;
  snapshot(): Promise<FileSnapshot>;
  /** Whether another program has written to the content since it was opened. Without this method nobody can. */
  isChanged?(): Promise<boolean>;
}

/** ListedFile is a file in a list of any length. */
export interface ListedFile {
  readonly path: TreePath;
  readonly size: number;
  readonly modifiedMs: number;
}

/** FileSizes is a batch of files of which only sizes and times are known. */
export interface FileSizes {
  readonly sizes: readonly number[];
  /** When one of them was last modified; 0 if there is none. */
  readonly newestMs: number;
}

/**
 * FileReader reads the files of one bucket. Symbolic links are followed as long as they stay inside the bucket, but are not listed;
 * sockets, FIFOs and devices do not exist. A disk that fails is a Fault: NotFound, InvalidInput (such a path cannot exist) or IoError.
 */
export interface FileReader {
  /** find returns what exists at a path; `path` of the result is in the Unicode form that the store has. */
  find(path: TreePath): Promise<FileEntry | undefined>;
  resolve(path: TreePath): Promise<ResolvedPath>;
  /** Throws NotFound when there is no file, InvalidInput for a folder. The caller disposes it. */
  open(path: TreePath): Promise<OpenFile>;
  /** Opens a file, as `open` does; of a folder it returns the entry. Undefined when nothing exists at the path. */
  openOrFind(path: TreePath): Promise<OpenFile | FileEntry | undefined>;
  /**
   * The files and folders of a folder, sorted by name, in batches. Throws NotFound, and InvalidInput for a file. An entry that was
   * listed before may be given instead of a path: then a store whose names are rows finds the folder also if it was moved meanwhile.
   */
  entries(folder: TreePath | FileEntry): AsyncGenerator<FileEntry[]>;
  /**
   * The files and folders of a folder whose names are behind `after`, sorted by the bytes of their names, in batches. A store whose names are
   * rows reads no more of them than what is asked for. It throws as `entries` does.
   */
  entriesAfter(folder: TreePath, after: string): AsyncGenerator<FileEntry[]>;
  /** What `entries` leaves out of a folder: links, what is neither a file nor a folder, and names that no path can have. */
  unlisted?(folder: TreePath): Promise<UnlistedName[]>;
  /** The sizes of all files, in batches and in no order, for statistics. Throws if the bucket's folder cannot be read. */
  fileSizes(): AsyncGenerator<FileSizes>;
  /** The state of a path where `find` found nothing. */
  snapshotOfMissing(path: TreePath): FileSnapshot;
  /** A reader of the tree of this name, or of the one that it reads first. */
  pinned(tree?: string, options?: PinOptions): PinnedReader;
  /** Undefined if the store has no disk of its own whose space it knows. */
  diskUsage(): Promise<DiskUsage | undefined>;
}

/** UnlistedName is a name in a folder that no listing shows. */
export interface UnlistedName {
  readonly name: string;
  readonly isLink: boolean;
}

/** PublishedFiles reads the files of buckets without a server, or beside one. */
export interface PublishedFiles extends AsyncDisposable {
  /**
   * Opens the tree that is in the place of a bucket now. It is read to its end, whatever is published meanwhile, and closed when the
   * result is disposed.
   */
  open(bucket: Pick<Bucket, "name" | "path">): Promise<AsyncDisposable & { readonly reader: FileReader }>;
}

/** NewEntry is a file or folder of a tree that is being made. */
export interface NewEntry {
  readonly kind: "file" | "folder";
  /** In bytes. */
  readonly size: number;
  /** Permission bits, for a store that has them. */
  readonly mode: number;
  readonly modifiedMs: number;
  /** Of a file, if it has one. */
  readonly record?: Uint8Array | undefined;
  /** The content of a file, once. */
  content(): AsyncIterable<Uint8Array>;
}

/** NewTrees are whole trees of buckets that are filled while nobody sees them, and then take the places of the present ones. */
export interface NewTrees {
  /** Adds a file or folder at a path of a bucket, which is given by its path in the store. A folder comes before what it contains. */
  add(at: { readonly bucket: string; readonly path: TreePath }, entry: NewEntry): Promise<void>;
  /** Makes durable what was added. Nothing is added afterwards. */
  complete(): Promise<void>;
  /** Puts all trees in their places. If it throws, `undo` is to be called. */
  install(): Promise<void>;
  /** Puts back the former trees, if `install` has begun, and removes the new ones. */
  undo(): Promise<void>;
  /** Removes the former trees, and returns the disk paths of those that could not be removed. */
  finish(): Promise<string[]>;
}

/** TreeReader has the methods that sending files needs. */
export type TreeReader = Pick<FileReader, "find" | "open" | "openOrFind" | "snapshotOfMissing">;

/**
 * PinnedReader reads one tree, so that all that is read for an answer belongs together: a read of another one, after an exchange,
 * throws TreeExchanged.
 */
export interface PinnedReader extends TreeReader {
  /** Tells the tree from others that were or will be at the same location; undefined until something was read. */
  readonly tree: string | undefined;
}

/** PinOptions are how a tree is read. */
export interface PinOptions {
  /** Whether names may be as they were last known, for `stale_seconds`, while the database is away. */
  readonly usesKnown?: boolean;
}

/** TreeExchanged is thrown by a PinnedReader whose tree is not in place any more. */
export class TreeExchanged extends Fault {
  constructor() {
    super("Busy", "the files of the bucket are being exchanged; try again");
  }
}

export function notFound(path: TreePath): Fault {
  if (path === treeRoot) return folderIsGone();
  return new Fault("NotFound", "there is no such file in the bucket", { path });
}

export function isFolder(path: TreePath): Fault {
  return new Fault("InvalidInput", "the path is a folder, not a file", { path, reason: "is_folder" });
}

export function isFile(path: TreePath): Fault {
  return new Fault("InvalidInput", "the path is a file, not a folder", { path, reason: "is_file" });
}

/** folderExists returns the Fault for a path where a file is to be, but a folder exists. */
export function folderExists(path: TreePath): Fault {
  return new Fault("InvalidInput", "a folder exists at this path; choose another", {
    path,
    reason: "is_folder",
  });
}

/** fileAbove returns the Fault for a path below a file. */
export function fileAbove(path: TreePath): Fault {
  return new Fault("InvalidInput", "a file exists where the path needs a folder; choose another path", {
    path,
    reason: "is_file",
  });
}

/** ParentMissing is the Fault for a path whose parent folder does not exist. WebDAV answers 409 (RFC 4918 §9.7.1). */
export class ParentMissing extends Fault {
  constructor(path: TreePath) {
    super("NotFound", "the parent folder does not exist; create it first", { path });
  }
}

export function folderIsGone(): Fault {
  return new Fault(
    "IoError",
    "the bucket's folder is gone from the disk; make it again or delete the bucket",
    { reason: "files_missing" },
  );
}

/** BucketView is what can be read of a bucket: as it is now, or as a transaction sees it. */
export interface BucketView {
  readonly reader: FileReader;
  /** Its locks and dead properties. */
  readonly metadata: Metadata;
}

/** StagedFile is uploaded content that is not in the bucket yet. Disposing it deletes it, unless it was put in place. */
export interface StagedFile extends AsyncDisposable {
  /** In bytes. */
  readonly size: number;
  /** What its transport wants to be stored with it. */
  readonly record?: Uint8Array | undefined;
}

/** RecordOf returns the record of content, once all of it was read; undefined for none. It throws for content that is refused. */
export type RecordOf = () => Uint8Array | undefined;

/** Times to give a file or folder; undefined leaves a time as it is. */
export interface Times {
  readonly modified?: Date | undefined;
  readonly accessed?: Date | undefined;
}

/** Failure is one of several files or folders that an operation could not be done to. */
export interface Failure {
  readonly path: TreePath;
  readonly fault: Fault;
}

/** Removal is what became of a file or folder that was to be removed. */
export interface Removal {
  /** What could not be removed. */
  readonly failures: readonly Failure[];
  /** By which it can be restored; undefined if it is not kept. */
  readonly version?: number | undefined;
}

export interface PutOptions extends Times {
  /** Whether missing folders above the path are created; NotFound otherwise. */
  readonly makeParents: boolean;
}

/**
 * WriteTransaction changes files while nobody else in this process changes the paths that it was opened for, nor anything above or
 * below them. Its paths are those of `ResolvedPath`. A file is replaced atomically. On a disk, a folder that is replaced is missing
 * between two renames, and a start after a crash puts it back. An operation that throws has changed nothing, but may have created
 * missing parents; one that returns failures names what it left undone.
 *
 * In a store whose names are rows, `reader`, `metadata` and all operations are one transaction of the database: work that throws has
 * changed nothing at all, and rows of the bucket must be read and written through them. Rows of access tokens and bucket records may
 * be read outside of it, one statement at a time: transactions leave one connection to single statements (`PooledDriver`), so such a
 * statement always gets its turn; with PostgreSQL such a store needs `max_connections` of at least 2. A further transaction must not be
 * begun while this one is open.
 */
export interface WriteTransaction extends BucketView {
  /** The transaction of the database that all this is a part of; undefined where names are not rows. */
  readonly database: DatabaseTransaction | undefined;
  /**
   * put puts staged content at a path, in place of the file that exists there, and its record with it: a reader finds both or neither. The
   * stats have no record if the store could not keep it. InvalidInput when something else than a file exists there.
   */
  put(staged: StagedFile, to: TreePath, options: PutOptions): Promise<FileStats>;
  /** Creates an empty file in a folder that exists. InvalidInput when something else than a file exists there. */
  makeFile(path: TreePath): Promise<FileStats>;
  /** Creates a folder in one that exists; false when the path is taken. */
  makeFolder(path: TreePath, times: Times): Promise<boolean>;
  /** Removes a file, or a folder with its content. With failures, the folder stays with what could not be removed. */
  remove(entry: FileEntry): Promise<Removal>;
  /**
   * Moves a file or folder; what exists at `to` is replaced as a whole. With failures it is not moved, except to another file system:
   * there the copy exists beside what could not be removed.
   */
  move(entry: FileEntry, to: TreePath, options: MoveOptions): Promise<Failure[]>;
  /** Copies a file or folder; what exists at `to` is replaced as a whole. Files that cannot be read are left out and returned. */
  copy(entry: FileEntry, to: TreePath, options: CopyOptions): Promise<Failure[]>;
  setTimes(entry: FileEntry, times: Times): Promise<void>;
  /**
   * restoreVersion puts a version back at a path; missing folders above it are created. A file replaces a file that exists there; a
   * folder needs a free path. Afterwards a folder is not a version any more, and on a disk a file is not one either. NotFound if the
   * version has expired; `keepsNoVersions` if the store keeps none.
   */
  restoreVersion(wanted: VersionName, to: TreePath): Promise<FileVersion["kind"]>;
}

export interface MoveOptions {
  readonly makeParents: boolean;
  /** Ends the copying that a move between file systems needs; nothing is changed then. */
  readonly signal: AbortSignal;
}

export interface CopyOptions {
  /** Whether a folder is copied with its content (WebDAV: Depth infinity). */
  readonly recursive: boolean;
  readonly makeParents: boolean;
  /** Ends the copy; nothing is changed then. */
  readonly signal: AbortSignal;
}

/** ResolvedPaths has a `ResolvedPath` for each of some paths. */
export type ResolvedPaths<P extends readonly TreePath[]> = { readonly [K in keyof P]: ResolvedPath };

/** TreeFiles reads and changes the files of one tree. */
export interface TreeFiles {
  readonly reader: FileReader;
  /** Stores content outside of the bucket, however long it takes to arrive. `path` is only named in errors. */
  stage(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    path: TreePath,
    record?: RecordOf,
  ): Promise<StagedFile>;
  /**
   * Runs `work` in turn: after all earlier work on the paths, above them and below them. It gets them as resolved in its turn. In a store
   * whose names are rows, the rows of many paths are read and written together. What it has put into `changes` is told to followers of
   * the bucket once the change is durable.
   */
  transact<const P extends readonly TreePath[], T>(
    paths: P,
    work: (transaction: WriteTransaction, resolved: ResolvedPaths<P>) => Promise<T>,
    changes?: readonly FileChange[],
  ): Promise<T>;
  /**
   * Runs `work`, which changes no files, only locks and properties. On a disk it waits for nobody: a client must be able to refresh its
   * locks during a long copy. In a store whose names are rows it is a transaction like the others.
   */
  transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T>;
  readonly versions: Versions;
}

/** WantedFile is a file that a tree is to have. */
export interface WantedFile {
  readonly path: TreePath;
  /** In bytes. */
  readonly size: number;
  /** In hexadecimal, lower case. */
  readonly sha256: string;
}

/**
 * TreeExchange is what belongs to the exchange of two trees. A store whose names are rows does it in one transaction: `check`,
 * the exchange, `commit`. A disk cannot take part in a transaction: `check` and `begin` are in one before the exchange, and
 * `commit`, or `cancel` if it failed, in one after it; a start after a crash finds what `begin` wrote.
 */
export interface TreeExchange {
  /** What followers of the bucket are told once it is done. */
  readonly changes?: readonly FileChange[];
  /** Runs work in a transaction in which nobody else changes the deploys of the bucket. */
  transact<T>(work: (changes: DeployChanges) => Promise<T>): Promise<T>;
  /** Throws what forbids the exchange. It is called while nobody changes either tree. */
  check(view: BucketView, changes: DeployChanges): Promise<void>;
  begin(changes: DeployChanges): Promise<void>;
  commit(changes: DeployChanges, version: number | null): Promise<void>;
  cancel(changes: DeployChanges): Promise<void>;
  /** Makes what was written durable, so that a power cut cannot undo it. */
  flush(): Promise<void>;
}

export interface ReuseOptions {
  /** Returns the paths at which the other tree may have the content of a file. */
  readonly sourcesOf: (file: WantedFile) => readonly TreePath[];
  readonly signal: AbortSignal;
  /** Throws if the tree may not be changed any more. It is called whenever that cannot change before the next step is done. */
  check(): Promise<void>;
}

/** Tree has the files of a bucket, or of a deploy of it, and what can be done with the whole tree. */
export interface Tree extends TreeFiles {
  /**
   * treeId names the tree wherever it is; null if the store needs no name to know which tree is where, undefined if there is none
   * at this location.
   */
  treeId(): Promise<string | null | undefined>;
  /** The version of the bucket's files; null if the store counts none. */
  version(): Promise<number | null>;
  /**
   * reuse adds the files whose content `source` has at one of their paths there, and returns the files whose content neither tree
   * has. What it adds survives a power cut as uploads do.
   */
  reuse(source: Tree, files: readonly WantedFile[], options: ReuseOptions): Promise<WantedFile[]>;
  /** Exchanges the whole tree with another one of the same kind, at once for every reader and after all earlier changes of both. */
  exchangeWith(other: Tree, work: TreeExchange): Promise<void>;
}

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** StoreHealth is whether the store of all buckets can be used. */
export interface StoreHealth {
  /** How often the store was lost since it was opened. */
  readonly losses: number;
  /** True if the last check found a problem. */
  readonly isLost: boolean;
  /** True if, at the last check, all files seemed deleted although they are not, as those of a disk that is not mounted. */
  readonly isMissing: boolean;
  /** True if the store did not answer the last check: an upload can be refused before its body is read. */
  readonly isAway: boolean;
  /**
   * The space of the disk that has the files, at the last check. Undefined if the store has none of its own, or while that is not
   * known.
   */
  readonly space: DiskSpace | undefined;
  /** check asks the store now, for a bounded time. Callers share a check that is under way. Does not reject. */
  check(): Promise<void>;
}

/** HeadListener receives the heads of buckets' files as they are read with the records of buckets. */
export interface HeadListener {
  /** `head` is undefined if the bucket has none. `begun` is the stamp of the read. */
  headRead(bucketPath: string, head: HeadValue | undefined, begun: Stamp): void;
}

export interface OpenBucket {
  readonly bucket: Pick<Bucket, "name" | "path">;
  readonly metadata: Metadata;
  /** Called when files may have changed; `exchanged` if the whole tree has another location now. */
  readonly onChanged: (how?: "exchanged") => void;
  /** Called once changes are durable, with the step of the bucket's version that they are; undefined in a store that counts none. */
  readonly onDone?: ((changes: readonly FileChange[], step?: FilesStep) => void) | undefined;
}

/** LocationClaim is a new or changed record of a bucket that needs its location in the store. */
export interface LocationClaim {
  /** The bucket's path, its form checked. */
  readonly path: string;
  /** Whether a location that has files may be taken: they are served to everybody from then on. */
  readonly mayTakeOver: boolean;
  /** The transaction that writes the record. What the store writes to the database must be a part of it. */
  readonly transaction: DatabaseTransaction;
}

/** BucketStorage keeps the files of all buckets. */
export interface BucketStorage {
  readonly health: StoreHealth;
  readonly history: History;
  /** Undefined if the state of the files is not in the database. */
  readonly heads?: HeadListener;
  /**
   * verifyIdentity returns the id of the store, equal for all nodes that share it; `disk` for plain files. Throws what an
   * operator has to do if the files of this database are in another store, or if the store is that of another database. To be
   * called before the first use.
   */
  verifyIdentity(): Promise<string>;
  /** The store of one bucket. The caller opens it once and keeps it; there is nothing to close. */
  open(options: OpenBucket): Tree;
  /** Creates the location of a bucket, or takes the one that exists. InvalidInput if that has files, unless `mayTakeOver`. */
  claim(claim: LocationClaim): Promise<void>;
  /** recreate creates the location of a bucket whose record exists again, if the location is missing. */
  recreate(claim: Omit<LocationClaim, "mayTakeOver">): Promise<void>;
  /**
   * missing returns those of these paths of buckets that have no location in this store. Requests for their files fail until
   * `recreate`, or until they are copied there.
   */
  missing(paths: readonly string[]): Promise<string[]>;
  /**
   * Finishes or undoes what a crash of this server interrupted. To be called once, before any change. Returns what could not be
   * cleared.
   */
  clear(): Promise<string[]>;
  /** Ends running copies because the server stops; they remove what they made so far. */
  stopCopies(): void;
  /** Begins what the store does by itself. To be called once its configuration is in force. */
  start(): void;
  /**
   * Ends what runs in the background; calls that run may still use the storage until the database is closed, which has to wait until this
   * resolves.
   */
  close(): Promise<void>;
}

/** History is what a storage has beside the present files of buckets: uploads that arrive, and the trees of deploys. */
export interface History {
  /** The content of resumable uploads. */
  readonly parts: PartialContents;
  /** Throws if the tree of a bucket could not be exchanged with one at a location that is still to be made, whatever is in them. */
  assertExchangeable(path: string, other: string): Promise<void>;
  /** Finishes or undoes the exchange of two trees that a crash interrupted, so that there is a tree at both locations. */
  settleExchange(path: string, other: string): Promise<void>;
  /** Deletes the tree at a location, which neither a record nor a deploy has any more. May take long. */
  discard(path: string): Promise<void>;
}

/** Versions is what was deleted or replaced in a tree, and can be restored for some time. */
export interface Versions {
  /** The number of days for which what is deleted or replaced from now on can be restored; 0 if it cannot. */
  readonly retentionDays: number;
  /**
   * What was deleted or replaced at a path and below it, by version, the newest first, and by path. `keepsNoVersions` if nothing
   * is kept.
   */
  list(path: TreePath, options: HistoryOptions): Promise<FileVersion[]>;
  /** Opens the content of a version of a file, as `FileReader.open` does. */
  open(wanted: VersionName): Promise<OpenFile>;
  /** Counts what can be restored at present, and its bytes. */
  measure(): Promise<VersionsSize>;
  /** Ends the time of everything that `list` returns, so that it cannot be restored any more, and returns the number of versions. */
  purge(): Promise<number>;
}

/** VersionName names a version: the path that it had, and the change of the bucket that deleted or replaced it. */
export interface VersionName {
  readonly version: number;
  readonly path: TreePath;
}

/** FileVersion is a file or folder that was deleted or replaced, and can be restored for some time. Times are Unix milliseconds. */
export interface FileVersion extends VersionName {
  readonly kind: "file" | "folder";
  /** In bytes; 0 for a folder. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly removedAtMs: number;
  readonly retainedUntilMs: number;
}

/** VersionsSize is how much of what was deleted or replaced can be restored. */
export interface VersionsSize {
  /** As many as `Versions.list` returns; a folder is one. */
  readonly versions: number;
  /** Of all files, also those in folders. Content that several versions share counts for each. */
  readonly bytes: number;
}

export interface HistoryOptions {
  /** The largest number of versions to return. */
  readonly max: number;
  /** The last one of an earlier answer, which is continued. */
  readonly after?: VersionName | undefined;
  /** Whether files are listed alone, with those of deleted folders, each with the version of its folder. */
  readonly filesOnly?: boolean | undefined;
  /** Whether a path is wanted; default: every path. */
  readonly matches?: ((path: TreePath) => boolean) | undefined;
}

/** StoredPiece is a piece of an upload that survives a crash. */
export interface StoredPiece {
  /** In bytes. */
  readonly size: number;
  /** Set where a piece is a blob; undefined for an empty one. */
  readonly blob?: { readonly key: string; readonly sha256: string } | undefined;
}

/** PieceOfUpload says where a piece belongs. */
export interface PieceOfUpload {
  readonly id: string;
  /** The number of bytes of the upload that are stored already. */
  readonly offset: number;
  /** The bucket's path in the store, and that of the file; for people and for errors. */
  readonly bucketPath: string;
  readonly path: TreePath;
}

/** SinglePiece is a piece that is the whole content under its id. */
export interface SinglePiece {
  readonly id: string;
  /** In bytes. */
  readonly size: number;
  readonly blob: StoredPiece["blob"];
}

/** JoinedPieces become one file. */
export interface JoinedPieces {
  readonly pieces: readonly SinglePiece[];
  readonly record: RecordOf;
  readonly onProgress: () => void;
}

export interface WholeUpload extends Omit<PieceOfUpload, "offset"> {
  /** In bytes. */
  readonly length: number;
  /** Where pieces are blobs, all of them, in their order. */
  readonly parts: readonly UploadPart[];
  /** Whether the hash of the content is wanted, though that may have to be read for it. */
  readonly wantsHash: boolean;
  /** Called as the content is read, which may take long. */
  readonly onProgress: () => void;
}

export interface AssembledFile {
  /** To be put in place. Disposing it leaves the pieces as they are, so that the upload can be finished later. */
  readonly staged: StagedFile;
  /** In hexadecimal; set if it was wanted. */
  readonly sha256: string | undefined;
}

/** PartialContents keeps the content of resumable uploads until their files are put in place. Its methods throw a Fault. */
export interface PartialContents {
  /** Stores a piece under an id, which may be one and a name, with a slash between them, for several pieces of one upload. What was stored from its offset on before is replaced. NotFound if what was stored before is gone. */
  append(piece: PieceOfUpload, content: AsyncIterable<Uint8Array>): Promise<StoredPiece>;
  /** Reads a piece that was stored by itself, whole. NotFound if it is gone. */
  read(piece: SinglePiece): AsyncIterable<Uint8Array>;
  /**
   * Makes one file of pieces that were stored by themselves, one after the other, and leaves them as they are. NotFound if one is gone.
   * `onProgress` is called as they are copied, which may take long.
   */
  join(upload: Omit<PieceOfUpload, "offset">, pieces: JoinedPieces): Promise<StagedFile>;
  /** Makes one file of all pieces. NotFound if one is gone. */
  assemble(upload: WholeUpload): Promise<AssembledFile>;
  /** Deletes the content of an upload; `blobs` are the pieces that were blobs. */
  discard(id: string, blobs: readonly string[]): Promise<void>;
  /** Deletes pieces that were blobs and that no row names any more; the rest of the upload stays. */
  drop(blobs: readonly string[]): Promise<void>;
  /** Deletes content that belongs to no upload any more, and returns of how many. `live` is called once what exists is known. */
  clear(live: () => Promise<ReadonlySet<string>>): Promise<number>;
}
