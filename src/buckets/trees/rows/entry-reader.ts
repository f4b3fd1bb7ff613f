import type { DiskUsage } from "../../../base/local-fs/stat.ts";
import { byCodeUnits, nextTurn, sortInTurns } from "../../../base/turns.ts";
import {
  BlobMissingFault,
  BlobStoreFault,
  type ByteRange,
  type StoredBlob,
} from "../../../blobs/blob-store.ts";
import type { ChunkOptions, Content, ContentSource } from "../../../blobs/content.ts";
import { type EntryRow, type EntryRows, isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../../db/rows/entry-values.ts";
import type { Logger } from "../../../log/hub.ts";
import { listedPath, splitPath, type TreePath, treeRoot } from "../../path.ts";
import {
  type FileEntry,
  type FileReader,
  type FileSizes,
  type FileSnapshot,
  isFile,
  isFolder,
  notFound,
  type OpenFile,
  type PinOptions,
  type ResolvedPath,
  TreeExchanged,
} from "../../ports.ts";
import { EntrySnapshot, EntryStats, ObjectEntry, type SnapshotRows } from "./entry.ts";
import type { Head } from "./heads.ts";
import { blobOf, entryOf, type LocatedPath, locate, parentOf } from "./locate.ts";

/** Entries of a folder that are returned at once. */
const batchEntries = 128;

interface EntryReaderOptions extends SnapshotRows {
  /** The bucket's name, for log lines. */
  readonly bucket: string;
  readonly log: Logger;
  /** Called when the blob store fails, other than by having lost content. */
  readonly onBlobStoreFault?: (fault: BlobStoreFault) => void;
  /** The space of the store's own disk, if it has one. */
  readonly diskUsage?: () => Promise<DiskUsage | undefined>;
  /** Reads the tree that was the bucket's when this head was read, also after another one was published; default: the bucket's own. */
  readonly head?: HeadValue | undefined;
  /** Paths that were followed already, in a transaction; a change of rows clears it. */
  readonly located?: Map<TreePath, LocatedPath>;
  /** Of a reader of one tree: its root, once it is known. */
  readonly pin?: { root: string | undefined } & PinOptions;
}

/**
 * EntryReader reads a bucket whose names are rows. Every call reads the rows as they are now; only content comes from the blob store.
 * It has more than 15 methods because it is all of `FileReader`, also of a pinned tree, over one way to locate a path.
 */
export class EntryReader implements FileReader {
  readonly #options: EntryReaderOptions;
  readonly #rows: EntryRows;

  constructor(options: EntryReaderOptions) {
    this.#options = options;
    this.#rows = options.entries;
  }

  /** The id of the root is what names a tree. */
  pinned(tree?: string, options: PinOptions = {}): EntryReader {
    return new EntryReader({ ...this.#options, pin: { root: tree, ...options } });
  }

  get tree(): string | undefined {
    return this.#options.pin?.root;
  }

  /** locate follows a path to its rows. */
  async locate(path: TreePath): Promise<LocatedPath> {
    const { pin, located: known } = this.#options;
    const located = known?.get(path) ?? (await (pin?.usesKnown ? this.#readOrKnown(path) : this.#read(path)));
    known?.set(path, located);
    if (pin !== undefined) {
      pin.root ??= located.head.root;
      if (pin.root !== located.head.root) throw new TreeExchanged();
    }
    return located;
  }

  async #read(path: TreePath): Promise<LocatedPath> {
    const { bucketPath, heads, head, located: known } = this.#options;
    if (head !== undefined) return locate(this.#rows, head, path);
    const begunAt = heads.freshness.now;
    const located = await locate(this.#rows, bucketPath, path);
    heads.saw(bucketPath, located.head);
    // What a transaction reads may be undone with it.
    if (known === undefined) heads.known.remember(bucketPath, path, located, begunAt);
    return located;
  }

  #readOrKnown(path: TreePath): Promise<LocatedPath> {
    const { bucketPath, heads } = this.#options;
    const known = () => {
      const value = heads.known.locate(bucketPath, path, heads.last(bucketPath));
      return value && { value };
    };
    return heads.freshness.readOrKnown(() => this.#read(path), known);
  }

  async find(path: TreePath): Promise<ObjectEntry | undefined> {
    const located = await this.locate(path);
    return this.#toEntry(located, located.path, entryOf(located));
  }

  async resolve(asked: TreePath): Promise<ResolvedPath> {
    const located = await this.locate(asked);
    const { path } = located;
    return {
      requested: path,
      path,
      entry: this.#toEntry(located, path, entryOf(located)),
      parent: this.#toEntry(located, splitPath(path).folder, parentOf(located)),
    };
  }

  async open(path: TreePath): Promise<ObjectFile> {
    const found = await this.openOrFind(path);
    if (found === undefined) throw notFound(path);
    if (found instanceof ObjectEntry) throw isFolder(path);
    return found;
  }

  async openOrFind(asked: TreePath): Promise<ObjectFile | ObjectEntry | undefined> {
    const entry = await this.find(asked);
    if (entry === undefined || isFolderValue(entry.stats.value)) return entry;
    const { value } = entry.stats;
    return new ObjectFile({
      value,
      snapshot: () => entry.snapshot(),
      source: this.#options.content,
      report: (fault) => this.#report(entry.path, value, fault),
    });
  }

  /** openRemoved opens the content of a file that is not in its place any more. */
  openRemoved(path: TreePath, value: FileValue): ObjectFile {
    return new ObjectFile({
      value,
      snapshot: () => this.snapshotOfMissing(path),
      source: this.#options.content,
      report: (fault) => this.#report(path, value, fault),
    });
  }

  /** A folder that was listed before is read by its id. */
  async *entries(asked: TreePath | FileEntry): AsyncGenerator<ObjectEntry[]> {
    if (asked instanceof ObjectEntry && isFolderValue(asked.stats.value))
      return yield* this.#list(asked.head, asked.path, asked.stats.value);
    const located = await this.locate(typeof asked === "string" ? asked : asked.path);
    yield* this.#list(located.head, located.path, folderOf(located));
  }

  async *entriesAfter(asked: TreePath, after: string): AsyncGenerator<ObjectEntry[]> {
    const located = await this.locate(asked);
    for await (const rows of this.#rows.listAfter(folderOf(located).id, after))
      yield this.#toEntries(located.head, located.path, rows);
  }

  async *fileSizes(): AsyncGenerator<FileSizes> {
    const { head } = await this.locate(treeRoot);
    const folders = [head.root];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
      for await (const rows of this.#rows.list(folder)) {
        const sizes: number[] = [];
        let newestMs = 0;
        for (const { value } of rows) {
          if (isFolderValue(value)) folders.push(value.id);
          else {
            sizes.push(value.size);
            newestMs = Math.max(newestMs, value.modified);
          }
        }
        yield { sizes, newestMs };
      }
  }

  snapshotOfMissing(path: TreePath): FileSnapshot {
    const { heads, bucketPath } = this.#options;
    const head = heads.known.headWithout(bucketPath, path);
    return new EntrySnapshot(this.#options, { path, value: undefined, head });
  }

  async diskUsage(): Promise<DiskUsage | undefined> {
    return this.#options.diskUsage?.();
  }

  async *#list(head: Head, folder: TreePath, { id }: FolderValue): AsyncGenerator<ObjectEntry[]> {
    const rows: EntryRow[] = [];
    for await (const batch of this.#rows.list(id)) {
      rows.push(...batch);
      await nextTurn();
    }
    const sorted = await sortInTurns(rows, (a, b) => byCodeUnits(a.name, b.name));
    for (let at = 0; at === 0 || at < sorted.length; at += batchEntries) {
      if (at > 0) await nextTurn();
      yield this.#toEntries(head, folder, sorted.slice(at, at + batchEntries));
    }
  }

  #toEntries(head: Head, folder: TreePath, rows: readonly EntryRow[]): ObjectEntry[] {
    return rows.flatMap(({ name, value }) => {
      const path = listedPath(folder, name);
      return path === undefined ? [] : (this.#toEntry({ head }, path, value) ?? []);
    });
  }

  #toEntry(
    { head }: { readonly head: Head },
    path: TreePath,
    value: EntryValue | undefined,
  ): ObjectEntry | undefined {
    return value && new ObjectEntry(this.#options, { path, value, head });
  }

  #report(path: TreePath, { blob }: FileValue, fault: BlobStoreFault): void {
    const { bucket, log, onBlobStoreFault } = this.#options;
    if (fault instanceof BlobMissingFault)
      log.event("blob.missing", fault.publicDetail, { bucket, path, blob: blob ?? "" });
    else onBlobStoreFault?.(fault);
  }
}

/** The folder at a located path. Throws NotFound, and InvalidInput for a file. */
function folderOf(located: LocatedPath): FolderValue {
  const value = entryOf(located);
  if (value === undefined) throw notFound(located.path);
  if (isFolderValue(value)) return value;
  throw isFile(located.path);
}

interface ObjectFileOptions {
  readonly value: FileValue;
  readonly snapshot: () => FileSnapshot;
  readonly source: ContentSource;
  /** Called if the store fails, or has lost the content. */
  readonly report: (fault: BlobStoreFault) => void;
}

/**
 * ObjectFile is a file whose content is a blob. Nothing asks the blob store before the content is needed: not for HEAD, and not
 * for a 304.
 */
class ObjectFile implements OpenFile {
  readonly stats: EntryStats;
  readonly contentKey: string;
  readonly #blob: StoredBlob | undefined;
  readonly #options: ObjectFileOptions;
  #content: Promise<Content> | undefined;
  #opened: Content | undefined;

  constructor(options: ObjectFileOptions) {
    this.#options = options;
    this.stats = new EntryStats(options.value);
    this.contentKey = options.value.hash;
    this.#blob = blobOf(options.value);
  }

  get isRemote(): boolean {
    return this.#blob !== undefined && !this.#options.source.has(this.#blob.key);
  }

  async prepare(): Promise<void> {
    await this.#reported(() => this.#open());
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#reported(async () => (await this.#open())?.bytes() ?? new Uint8Array());
  }

  async *chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array> {
    try {
      const content = await this.#open();
      if (content !== undefined) yield* content.chunks(range, options);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** Without `prepare`, the blob is opened when the client has room for the first bytes. */
  blob(range?: ByteRange): Blob | undefined {
    if (this.#blob === undefined) return new Blob([]);
    const blob = this.#opened?.blob?.(range);
    if (blob !== undefined) this.#content = undefined;
    return blob;
  }

  async snapshot(): Promise<FileSnapshot> {
    return this.#options.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Content that could not be opened has nothing to close; its caller has the error.
    const content = await this.#content?.catch(() => undefined);
    this.#content = undefined;
    await content?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<Content | undefined> {
    if (this.#blob === undefined) return undefined;
    this.#content ??= this.#options.source.open(this.#blob);
    this.#opened = await this.#content;
    return this.#opened;
  }

  async #reported<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw this.#noted(error);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof BlobStoreFault) this.#options.report(error);
    return error;
  }
}
