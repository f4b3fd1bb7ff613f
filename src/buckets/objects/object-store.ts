import type { Database } from "../../db/database.ts";
import { metadataRowsWithin } from "../../db/metadata-rows.ts";
import type { Logger } from "../../log/hub.ts";
import type {
  BucketView,
  FileStore,
  FileVersion,
  HistoryOptions,
  ResolvedPath,
  SourceAndTarget,
  StagedFile,
  WriteTransaction,
} from "../file-store.ts";
import type { Metadata } from "../metadata/metadata.ts";
import type { TreePath } from "../path.ts";
import { StoreFault } from "./blob-faults.ts";
import type { BlobStore } from "./blob-store.ts";
import { ChangeQueue } from "./change-queue.ts";
import { Committer, type LockedBucket } from "./committer.ts";
import type { ContentSource } from "./content-source.ts";
import { EntryReader } from "./entry-reader.ts";
import { EntryWriter } from "./entry-writer.ts";
import type { Heads } from "./heads.ts";
import type { Located } from "./locate.ts";
import { StagedBlob } from "./staged-blob.ts";
import { Versions } from "./versions.ts";

/** A client that leaves ends its body, which ends the upload. */
const neverAborted = new AbortController().signal;

/** ObjectStoreDeps is what the stores of all buckets share. */
export interface ObjectStoreDeps {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly content: ContentSource;
  readonly heads: Heads;
  /** Whether a change survives a power cut before it is answered. */
  readonly sync: boolean;
  /** How long what was deleted or replaced is kept. */
  readonly keepRemovedMs: number;
  /** Aborts when the server stops: copies end. */
  readonly stopping: AbortSignal;
  readonly activity: { uploads: number };
  /** Throws while the blob store is known not to answer. */
  readonly assertReachable: () => void;
  /** Called when the blob store fails, other than by having lost content. */
  readonly onStoreFault: (fault: StoreFault) => void;
  readonly log: Logger;
}

export interface ObjectStoreOptions {
  readonly bucket: { readonly name: string; readonly path: string };
  readonly metadata: Metadata;
  /** Called when files have changed. */
  readonly onChanged: () => void;
}

/**
 * ObjectStore keeps the names of a bucket as rows of the database, and the content as blobs. Content is uploaded first, outside of any transaction; the
 * commit of the rows is the write. It is atomic for all nodes that share the database.
 */
export class ObjectStore implements FileStore {
  readonly reader: EntryReader;
  readonly metadata: Metadata;
  readonly #deps: ObjectStoreDeps;
  readonly #bucketPath: string;
  readonly #readerOptions;
  readonly #versions: Versions;
  readonly #changes: ChangeQueue<EntryWriter>;

  constructor(deps: ObjectStoreDeps, { bucket, metadata, onChanged }: ObjectStoreOptions) {
    const { database, heads, content, log, sync, onStoreFault } = deps;
    this.#deps = deps;
    this.#bucketPath = bucket.path;
    this.metadata = metadata;
    this.#readerOptions = {
      bucket: bucket.name,
      bucketPath: bucket.path,
      heads,
      content,
      log,
      onStoreFault,
    };
    this.reader = new EntryReader({ ...this.#readerOptions, entries: database.entries });
    this.#versions = new Versions(database, bucket.path);
    const openWriter = (locked: LockedBucket) => this.#openWriter(locked);
    const committer = new Committer({
      bucketPath: bucket.path,
      database,
      heads,
      sync,
      openWriter,
      onChanged,
    });
    this.#changes = new ChangeQueue((changes) => committer.commit(changes));
  }

  async stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<StagedFile> {
    const { blobs, activity, log } = this.#deps;
    if (content instanceof Uint8Array && content.length === 0)
      return new StagedBlob({ blob: undefined, blobs, log });
    this.#deps.assertReachable();
    activity.uploads += 1;
    try {
      const blob = await blobs.put(content, { path: `${this.#bucketPath}/${path}` }, neverAborted);
      if (blob.size > 0) return new StagedBlob({ blob, blobs, log });
      await using _ = new StagedBlob({ blob, blobs, log });
      return new StagedBlob({ blob: undefined, blobs, log });
    } catch (error) {
      if (error instanceof StoreFault) this.#deps.onStoreFault(error);
      throw error;
    } finally {
      activity.uploads -= 1;
    }
  }

  transact<T>(
    path: TreePath,
    work: (transaction: WriteTransaction, resolved: ResolvedPath) => Promise<T>,
  ): Promise<T> {
    return this.#changes.run(async (writer) => work(writer, await writer.reader.resolve(path)));
  }

  transactBoth<T>(
    paths: SourceAndTarget<TreePath>,
    work: (transaction: WriteTransaction, resolved: SourceAndTarget<ResolvedPath>) => Promise<T>,
  ): Promise<T> {
    return this.#changes.run(async (writer) => {
      const source = await writer.reader.resolve(paths.source);
      const target = await writer.reader.resolve(paths.target);
      return work(writer, { source, target });
    });
  }

  transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T> {
    return this.#changes.run(work);
  }

  history(path: TreePath, options: HistoryOptions): Promise<FileVersion[]> {
    return this.#versions.list(path, options);
  }

  #openWriter({ transaction, head, nowMs }: LockedBucket): EntryWriter {
    const { database, keepRemovedMs, stopping } = this.#deps;
    const entries = database.entries.within(transaction);
    const located = new Map<TreePath, Located>();
    return new EntryWriter({
      bucketPath: this.#bucketPath,
      reader: new EntryReader({ ...this.#readerOptions, entries, located }),
      metadata: this.metadata.within(metadataRowsWithin(database, transaction, nowMs)),
      entries,
      findVersion: (wanted) => this.#versions.find(wanted, { transaction, nowMs }),
      located,
      head,
      nowMs,
      keepRemovedMs,
      stopping,
    });
  }
}
