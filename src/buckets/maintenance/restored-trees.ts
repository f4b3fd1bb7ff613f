import { Fault } from "../../base/fault.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { folderNamespace, headsNamespace } from "../../db/rows/entry-rows.ts";
import type { EntryValue, FileValue, FolderValue, HeadValue } from "../../db/rows/entry-values.ts";
import { splitPath, type TreePath, treeRoot } from "../path.ts";

/** The SHA-256 of an empty file, which has no blob. */
const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/** The version of a bucket that was restored, and of everything in it. */
const version = 1;

/** TreeRow is a row of `kv`. */
export interface TreeRow {
  readonly namespace: string;
  readonly key: string;
  readonly value: HeadValue | EntryValue;
}

/** RestoredItem is a file or folder of a backup. */
export interface RestoredItem {
  readonly kind: "file" | "folder";
  /** In bytes. */
  readonly size: number;
  readonly modifiedMs: number;
  content(): AsyncIterable<Uint8Array>;
}

/** RestoredTrees turns the files of buckets into rows and blobs, without a database. A folder must come before what it contains. */
export class RestoredTrees {
  readonly #blobs: BlobStore;
  /** The ids of the folders of each bucket. */
  readonly #folders = new Map<string, Map<TreePath, string>>();
  readonly #now = Date.now();

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** add stores the content of a file, and returns the rows of a file or folder. */
  async add(
    { bucket, path }: { readonly bucket: string; readonly path: TreePath },
    item: RestoredItem,
    signal: AbortSignal,
  ): Promise<TreeRow[]> {
    const modified = Math.round(item.modifiedMs);
    const times = { modified, created: modified, version };
    if (item.kind === "file") return [await this.#file({ bucket, path }, item, { times, signal })];
    const id = Bun.randomUUIDv7();
    if (path !== treeRoot) {
      const row = this.#row(bucket, path, { id, ...times } satisfies FolderValue);
      this.#folders.get(bucket)?.set(path, id);
      return [row];
    }
    this.#folders.set(bucket, new Map([[treeRoot, id]]));
    return [
      { namespace: headsNamespace, key: bucket, value: { version, root: id, at: this.#now, modified } },
    ];
  }

  async #file(
    { bucket, path }: { readonly bucket: string; readonly path: TreePath },
    { size, content }: RestoredItem,
    { times, signal }: { readonly times: Omit<FolderValue, "id">; readonly signal: AbortSignal },
  ): Promise<TreeRow> {
    const stored =
      size === 0
        ? { key: null, sha256: hashOfNothing, size }
        : await this.#blobs.put(content(), { path: `${bucket}/${path}` }, signal);
    const { key: blob, sha256: hash } = stored;
    return this.#row(bucket, path, { blob, hash, size: stored.size, ...times } satisfies FileValue);
  }

  #row(bucket: string, path: TreePath, value: EntryValue): TreeRow {
    const { folder, name } = splitPath(path);
    const id = this.#folders.get(bucket)?.get(folder);
    if (id === undefined)
      throw new Fault("InvalidInput", `the backup has ${bucket}/${path} without the folder above it`);
    return { namespace: folderNamespace(id), key: name, value };
  }
}
