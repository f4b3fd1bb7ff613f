import { Fault } from "../../../base/fault.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { folderNamespace, headsNamespace } from "../../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../../db/rows/entry-values.ts";
import { splitPath, type TreePath, treeRoot } from "../../path.ts";
import type { NewEntry, NewTrees } from "../../ports.ts";

/** The SHA-256 of an empty file, which has no blob. */
const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/** The version of a bucket that was restored, and of everything in it. */
const version = 1;
/** A file up to this size is read whole, so that several can be stored at once. */
const maxWholeBytes = 1024 * 1024;
const maxUploadsAtOnce = 16;
const rowsAtOnce = 500;

/** TreeRow is a row of `kv`. */
export interface TreeRow {
  readonly namespace: string;
  readonly key: string;
  readonly value: HeadValue | EntryValue;
}

export interface NewRowTreesOptions {
  readonly blobs: BlobStore;
  /** Receives the rows of the trees. They belong to a transaction of the caller, whose commit installs them. */
  insert(rows: readonly TreeRow[]): Promise<void>;
  readonly signal: AbortSignal;
}

interface Location {
  readonly bucket: string;
  readonly path: TreePath;
}

/**
 * NewRowTrees turns files into rows and blobs, without a database: content goes into the blob store at once. If the rows are never
 * committed, a later sweep deletes the content.
 */
export class NewRowTrees implements NewTrees {
  readonly #options: NewRowTreesOptions;
  /** The ids of the folders of each bucket. */
  readonly #folders = new Map<string, Map<TreePath, string>>();
  readonly #now = Date.now();
  #rows: TreeRow[] = [];
  readonly #uploads = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: NewRowTreesOptions) {
    this.#options = options;
  }

  async add(at: Location, entry: NewEntry): Promise<void> {
    if (entry.kind === "folder") this.#addFolder(at, entry);
    else if (entry.size > maxWholeBytes) await this.#addFile(at, entry, entry.content());
    else await this.#addShortFile(at, entry);
    if (this.#rows.length >= rowsAtOnce) await this.#flush();
  }

  async complete(): Promise<void> {
    await Promise.all(this.#uploads);
    this.#throwFailure();
    await this.#flush();
  }

  async install(): Promise<void> {}

  async undo(): Promise<void> {}

  async finish(): Promise<string[]> {
    return [];
  }

  async #addShortFile(at: Location, entry: NewEntry): Promise<void> {
    const content = await Array.fromAsync(entry.content(), (bytes) => Uint8Array.from(bytes));
    while (this.#uploads.size >= maxUploadsAtOnce) await Promise.race(this.#uploads);
    this.#throwFailure();
    const upload = this.#addFile(at, entry, Buffer.concat(content))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#uploads.delete(upload));
    this.#uploads.add(upload);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #flush(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    if (rows.length > 0) await this.#options.insert(rows);
  }

  #addFolder({ bucket, path }: Location, { modifiedMs }: NewEntry): void {
    const id = Bun.randomUUIDv7();
    const modified = Math.round(modifiedMs);
    if (path === treeRoot) {
      this.#folders.set(bucket, new Map([[treeRoot, id]]));
      const value = { version, root: id, at: this.#now, modified };
      this.#rows.push({ namespace: headsNamespace, key: bucket, value });
    } else {
      this.#addRow({ bucket, path }, { id, modified, created: modified, version } satisfies FolderValue);
      this.#folders.get(bucket)?.set(path, id);
    }
  }

  async #addFile(
    at: Location,
    { size, modifiedMs, record }: NewEntry,
    content: Uint8Array | AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const { blobs, signal } = this.#options;
    const modified = Math.round(modifiedMs);
    const stored =
      size === 0
        ? { key: null, sha256: hashOfNothing, size }
        : await blobs.put(content, { path: `${at.bucket}/${at.path}` }, signal);
    const { key: blob, sha256: hash } = stored;
    const times = { modified, created: modified, version };
    const kept = record && { record: Buffer.from(record).toString("base64") };
    this.#addRow(at, { blob, hash, size: stored.size, ...times, ...kept } satisfies FileValue);
  }

  #addRow({ bucket, path }: Location, value: EntryValue): void {
    const { folder, name } = splitPath(path);
    const id = this.#folders.get(bucket)?.get(folder);
    if (id === undefined)
      throw new Fault("InvalidInput", `the backup has ${bucket}/${path} without the folder above it`);
    this.#rows.push({ namespace: folderNamespace(id), key: name, value });
  }
}
