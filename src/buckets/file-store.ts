import type { Fault } from "../base/fault.ts";
import type { DatabaseTransaction } from "../db/dialect.ts";
import type { FileEntry, FileReader, FileStats, ResolvedPath } from "./file-reader.ts";
import type { FileVersion, HistoryOptions, KeptSize, VersionName } from "./file-version.ts";
import type { Metadata } from "./metadata/metadata.ts";
import type { TreePath } from "./path.ts";

/** BucketView is what can be read of a bucket: as it is now, or as a transaction sees it. */
export interface BucketView {
  readonly reader: FileReader;
  /** Its locks and dead properties. */
  readonly metadata: Metadata;
}

/** StagedFile is uploaded content that is not in the bucket yet. Disposing it deletes it, unless it was placed. */
export interface StagedFile extends AsyncDisposable {
  /** In bytes. */
  readonly size: number;
}

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

export interface PlaceOptions extends Times {
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
  /** Puts staged content at a path, in place of the file that exists there. InvalidInput when something else exists there. */
  place(staged: StagedFile, to: TreePath, options: PlaceOptions): Promise<FileStats>;
  /** Creates an empty file in a folder that exists. InvalidInput when something else than a file exists there. */
  makeFile(path: TreePath): Promise<FileStats>;
  /** Creates a folder in one that exists; false when the path is taken. */
  makeFolder(path: TreePath, times: Times): Promise<boolean>;
  /** Removes a file, or a folder with its content. With failures, the folder stays with what could not be removed. */
  remove(entry: FileEntry): Promise<Failure[]>;
  /**
   * Moves a file or folder; what exists at `to` is replaced as a whole. With failures it is not moved, except to another file system:
   * there the copy exists beside what could not be removed.
   */
  move(entry: FileEntry, to: TreePath, options: MoveOptions): Promise<Failure[]>;
  /** Copies a file or folder; what exists at `to` is replaced as a whole. Files that cannot be read are left out and returned. */
  copy(entry: FileEntry, to: TreePath, options: CopyOptions): Promise<Failure[]>;
  setTimes(entry: FileEntry, times: Times): Promise<void>;
  /**
   * Puts a version back at a path; missing folders above it are created. A file takes the place of a file that exists there; a folder
   * needs a free path, and is no version any more then; on a disk a file is none either. NotFound if it is not kept any more;
   * `keepsNoVersions` if none are.
   */
  restore(wanted: VersionName, to: TreePath): Promise<FileVersion["kind"]>;
}

export interface MoveOptions {
  readonly makeParents: boolean;
  /** Ends the copying that a move between file systems needs; nothing is changed then. */
  readonly signal: AbortSignal;
}

export interface CopyOptions {
  /** Whether a folder is copied with its content (WebDAV: Depth infinity). */
  readonly recursive: boolean;
  /** Ends the copy; nothing is changed then. */
  readonly signal: AbortSignal;
}

/** SourceAndTarget are the two paths of a copy or a move. */
export interface SourceAndTarget<P> {
  readonly source: P;
  readonly target: P;
}

/** FileStore keeps the files of one bucket. */
export interface FileStore {
  readonly reader: FileReader;
  /** Stores content outside of the bucket, however long it takes to arrive. `path` is only named in errors. */
  stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<StagedFile>;
  /** Runs `work` in turn: after all earlier work on the path, above it and below it. It gets the path as resolved in its turn. */
  transact<T>(
    path: TreePath,
    work: (transaction: WriteTransaction, resolved: ResolvedPath) => Promise<T>,
  ): Promise<T>;
  /** `transact` for two paths. */
  transactBoth<T>(
    paths: SourceAndTarget<TreePath>,
    work: (transaction: WriteTransaction, resolved: SourceAndTarget<ResolvedPath>) => Promise<T>,
  ): Promise<T>;
  /**
   * Runs `work`, which changes no files, only locks and properties. On a disk it waits for nobody: a client must be able to refresh its
   * locks during a long copy. In a store whose names are rows it is a transaction like the others.
   */
  transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T>;
  /**
   * What was deleted or replaced at a path and below it, by version, the newest first, and by path. `keepsNoVersions` if nothing
   * is kept.
   */
  history(path: TreePath, options: HistoryOptions): Promise<FileVersion[]>;
  /** For how many days what is deleted or replaced from now on can be restored; 0 if not at all. */
  readonly keptDays: number;
  /** Counts what can be restored at present, and its bytes. */
  measureKept(): Promise<KeptSize>;
  /** Ends the time of everything that `history` lists, so that it cannot be restored any more, and returns the number of versions. */
  purge(): Promise<number>;
}
