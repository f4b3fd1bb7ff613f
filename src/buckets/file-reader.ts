import { Fault } from "../base/fault.ts";
import type { BucketState } from "../db/rows/bucket-rows.ts";
import { type TreePath, treeRoot } from "./path.ts";

/** FileStats is what a store knows of one file or folder. Times are Unix milliseconds. */
export interface FileStats {
  /** In bytes. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly accessedMs: number;
  readonly createdMs: number;
  /** A strong entity tag (RFC 9110 §8.8.3), quotes included. That of a folder says nothing about what it contains. */
  readonly etag: string;
  /** SHA-256 of a file's content, in hexadecimal, if the store knows it without reading the content. */
  readonly sha256?: string | undefined;
  /** The time from which a further change is sure to give another `etag`; see `isSettled`. */
  readonly settledAtMs: number;
}

/**
 * etagOfContent is the entity tag of a file whose SHA-256 is known: equal on all nodes, and after the same content is uploaded again. In
 * base64url it has 45 characters with its quotes; in hexadecimal it would have 66, which is too long for the buffers in which some
 * clients (neon's litmus) build If headers.
 */
export function etagOfContent(sha256: string): string {
  return `"${Buffer.from(sha256, "hex").toString("base64url")}"`;
}

/** isSettled is whether content that was read after `etag` may be shared or cached under it. */
export function isSettled({ settledAtMs }: Pick<FileStats, "settledAtMs">): boolean {
  return Date.now() >= settledAtMs;
}

/** FileEntry is a file or folder as it was when the store looked. */
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
   * Whether the path still has that state. Synchronous, because it runs on every request that is answered from memory. `found` is
   * the state of the bucket if the caller has just looked: then nothing that was known before counts.
   */
  isCurrent(checks: FolderChecks, found?: BucketState): boolean;
  /** The content, for the kernel to send, if the path still leads to the same file and the store can hold it open. Synchronous. */
  hold(): HeldContent | undefined;
}

/** HeldContent is the content of a file that is held open. A response with the blob must be returned before `close` is called. */
export interface HeldContent {
  readonly blob: Blob;
  close(): void;
}

/** ResolvedPath is a path of a request after one look at the store: resolve once, then carry it. */
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

/** ByteRange is a part of a file's content; its bytes exist in the file. */
export interface ByteRange {
  readonly start: number;
  /** The last byte, included. */
  readonly end: number;
}

/**
 * OpenFile is a file of a bucket, open for reading: its content stays readable whatever happens to its name. Reading fails with a Fault
 * when the store does. It is to be disposed once, or given away by `body`.
 */
export interface OpenFile extends AsyncDisposable {
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
  /** The whole content in memory, as long as `stats` says. Fails if the file became shorter since. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  /** The content, or a range of it, read while it is consumed. Fails if the file became shorter than that. */
  chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array>;
  /**
   * The content, or a range of it, for a `Response`. It disposes the file when it needs it no more. The response must be returned to the
   * HTTP server without waiting for I/O after this call, or the content may be gone.
   */
  body(range?: ByteRange): Blob | ReadableStream<Uint8Array>;
  snapshot(): Promise<FileSnapshot>;
}

export interface ChunkOptions {
  /**
   * True if the consumer is done with a chunk when it asks for the next one, whose bytes may then take its place. By default chunks
   * are the consumer's to keep.
   */
  readonly reusesMemory?: boolean;
}

export interface DiskUsage {
  readonly availableBytes: number;
  readonly usedBytes: number;
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
  /** What exists at a path; `path` of the result is in the Unicode form that the store has. */
  find(path: TreePath): Promise<FileEntry | undefined>;
  resolve(path: TreePath): Promise<ResolvedPath>;
  /** Throws NotFound when there is no file, InvalidInput for a folder. The caller disposes it. */
  open(path: TreePath): Promise<OpenFile>;
  /** Opens a file, as `open` does; of a folder it returns the entry. Undefined when nothing exists at the path. */
  openOrFind(path: TreePath): Promise<OpenFile | FileEntry | undefined>;
  /** The files and folders of a folder, sorted by name, in batches. Throws NotFound, and InvalidInput for a file. */
  entries(folder: TreePath): AsyncGenerator<FileEntry[]>;
  /**
   * Everything below a folder, a folder before what it contains. A folder that cannot be read goes to `onUnreadable`; without it,
   * it throws.
   */
  walk(folder: TreePath, onUnreadable?: (path: TreePath, error: unknown) => void): AsyncGenerator<FileEntry>;
  /** Every file below a folder, sorted by path. */
  files(folder: TreePath): Promise<ListedFile[]>;
  /** The sizes of all files, in batches and in no order, for statistics. Throws if the bucket's folder cannot be read. */
  fileSizes(): AsyncGenerator<FileSizes>;
  /** The state of a path where `find` found nothing. */
  snapshotOfMissing(path: TreePath): FileSnapshot;
  /** A reader of the tree of this name, or of the one that it reads first. */
  pinned(tree?: string, options?: PinOptions): PinnedReader;
  /** Undefined if the store has no disk of its own whose space it knows. */
  diskUsage(): Promise<DiskUsage | undefined>;
}

/** TreeReader is what sending files takes. */
export type TreeReader = Pick<FileReader, "find" | "open" | "openOrFind" | "snapshotOfMissing">;

/**
 * PinnedReader reads one tree, so that all that is read for an answer belongs together: a read of another one, after an exchange,
 * throws TreeExchanged.
 */
export interface PinnedReader extends TreeReader {
  /** Tells the tree from others that were or will be at the same place; undefined until something was read. */
  readonly tree: string | undefined;
}

/** PinOptions are how a tree is read. */
export interface PinOptions {
  /** Whether names may be as they were last known, for `stale_seconds`, while the database is away. */
  readonly usesKnown?: boolean;
}

/** TreeExchanged is the Fault of a PinnedReader whose tree is not in place any more. */
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

/** folderExists is the Fault for a path at which a file is to be, and a folder is. */
export function folderExists(path: TreePath): Fault {
  return new Fault("InvalidInput", "a folder exists at this path; choose another", {
    path,
    reason: "is_folder",
  });
}

export function folderIsGone(): Fault {
  return new Fault(
    "IoError",
    "the bucket's folder is gone from the disk; make it again or delete the bucket",
    { reason: "files_missing" },
  );
}
