// This folder keeps the trees of buckets as rows of the database; the content is in blobs/. object-storage.ts opens the
// RowTree of this file for each bucket, or readers without a server. locate.ts follows a path through the rows, entry-
// reader.ts reads what it finds, entry-writer.ts changes it. committer.ts runs changes in a transaction that locks the
// head of the bucket, many together. heads.ts knows the version of each bucket, so that plain HTTP seldom has to ask
// the database; known-rows.ts is for the time while it is away.

import { type BlobStore, BlobStoreFault } from "../../../blobs/blob-store.ts";
import type { ContentSource } from "../../../blobs/content.ts";
import type { Database } from "../../../db/database.ts";
import { metadataRowsWithin } from "../../../db/rows/metadata-rows.ts";
import type { Logger } from "../../../log/hub.ts";
import type { FileChange } from "../../events.ts";
import { reuseRows } from "../../history/rows/reuse-rows.ts";
import { RowVersions } from "../../history/rows/versions.ts";
import type { Metadata } from "../../metadata/metadata.ts";
import type { TreePath } from "../../path.ts";
import type {
  BucketView,
  OpenBucket,
  RecordOf,
  ResolvedPath,
  ResolvedPaths,
  ReuseOptions,
  StagedFile,
  Tree,
  TreeExchange,
  WantedFile,
  WriteTransaction,
} from "../../ports.ts";
import { ChangeQueue, Committer, type LockedBucket } from "./committer.ts";
import { EntryReader } from "./entry-reader.ts";
import { EntryWriter } from "./entry-writer.ts";
import type { Heads } from "./heads.ts";
import { type LocatedPath, treeIsMissing } from "./locate.ts";
import { StagedBlob } from "./staged-blob.ts";

const dayMs = 24 * 3600 * 1000;
/** A client that leaves ends its body, which ends the upload. */
const neverAborted = new AbortController().signal;

/** From this number of paths on, a change reads and writes their rows together. */
const minHeld = 4;

/** RowTreeDeps is what the trees of all buckets share. */
export interface RowTreeDeps {
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
  /** Throws while the blob store is known not to answer. */
  readonly assertReachable: () => void;
  /** Called when the blob store fails, other than by having lost content. */
  readonly onBlobStoreFault: (fault: BlobStoreFault) => void;
  readonly log: Logger;
}

interface RowTreeOptions {
  readonly bucket: { readonly name: string; readonly path: string };
  readonly metadata: Metadata;
  /** Called when files have changed. */
  readonly onChanged: OpenBucket["onChanged"];
  readonly onDone?: OpenBucket["onDone"];
}

/**
 * RowTree keeps the names of a bucket as rows of the database, and the content as blobs. Content is uploaded first, outside
 * of any transaction; the commit of the rows is the write. It is atomic for all nodes that share the database.
 */
export class RowTree implements Tree {
  readonly reader: EntryReader;
  readonly metadata: Metadata;
  readonly versions: RowVersions;
  readonly #deps: RowTreeDeps;
  readonly #bucketPath: string;
  readonly #readerOptions;
  readonly #changes: ChangeQueue<EntryWriter>;
  readonly #onChanged: RowTreeOptions["onChanged"];
  readonly #onDone: RowTreeOptions["onDone"];

  constructor(deps: RowTreeDeps, { bucket, metadata, onChanged, onDone }: RowTreeOptions) {
    const { database, blobs, heads, content, log, sync, onBlobStoreFault } = deps;
    this.#deps = deps;
    this.#bucketPath = bucket.path;
    this.metadata = metadata;
    this.#onChanged = onChanged;
    this.#onDone = onDone;
    this.#readerOptions = {
      bucket: bucket.name,
      bucketPath: bucket.path,
      heads,
      content,
      log,
      onBlobStoreFault,
      diskUsage: async () => blobs.diskUsage?.(),
    };
    this.reader = new EntryReader({ ...this.#readerOptions, entries: database.entries });
    this.versions = new RowVersions({
      database,
      bucketPath: bucket.path,
      retentionDays: deps.keepRemovedMs / dayMs,
      openContent: (path, value) => this.reader.openRemoved(path, value),
    });
    const openWriter = (locked: LockedBucket) => this.#openWriter(locked);
    const committer = new Committer({
      bucketPath: bucket.path,
      database,
      heads,
      sync,
      openWriter,
      onChanged,
      onDone,
    });
    this.#changes = new ChangeQueue((changes) => committer.commit(changes));
  }

  async stage(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    path: TreePath,
    record?: RecordOf,
  ): Promise<StagedFile> {
    const { blobs, log } = this.#deps;
    if (content instanceof Uint8Array && content.length === 0)
      return new StagedBlob({ blob: undefined, blobs, log, record: record?.() });
    this.#deps.assertReachable();
    try {
      const blob = await blobs.put(content, { path: `${this.#bucketPath}/${path}` }, neverAborted);
      await using stored = new StagedBlob({ blob, blobs, log });
      const isEmpty = blob.size === 0;
      const staged = new StagedBlob({ blob: isEmpty ? undefined : blob, blobs, log, record: record?.() });
      stored.isNamed = !isEmpty;
      return staged;
    } catch (error) {
      if (error instanceof BlobStoreFault) this.#deps.onBlobStoreFault(error);
      throw error;
    }
  }

  transact<const P extends readonly TreePath[], T>(
    paths: P,
    work: (transaction: WriteTransaction, resolved: ResolvedPaths<P>) => Promise<T>,
    changes?: readonly FileChange[],
  ): Promise<T> {
    return this.#changes.run((writer) => {
      const run = async () => {
        const resolved: ResolvedPath[] = [];
        for (const path of paths) resolved.push(await writer.reader.resolve(path));
        return work(writer, resolved as ResolvedPaths<P>);
      };
      return paths.length < minHeld ? run() : writer.holding(paths, run);
    }, changes);
  }

  transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T> {
    return this.#changes.run(work);
  }

  /** The rows say which tree is where. */
  async treeId(): Promise<null> {
    return null;
  }

  async version(): Promise<number | null> {
    return (await this.#deps.database.heads.read(this.#bucketPath))?.version ?? null;
  }

  async reuse(
    source: Tree,
    files: readonly WantedFile[],
    { sourcesOf, signal, check }: ReuseOptions,
  ): Promise<WantedFile[]> {
    const { database, heads, sync, stopping } = this.#deps;
    const missing = await reuseRows(files, {
      database,
      from: asRows(source).#bucketPath,
      sourcesOf,
      to: this.#bucketPath,
      signal: AbortSignal.any([signal, stopping]),
      check,
      onChanged: (head) => heads.saw(this.#bucketPath, head),
    });
    if (sync) await database.flush();
    return missing;
  }

  /** The bucket's head is locked before the head of the other tree, as `reuse` does. */
  async exchangeWith(other: Tree, work: TreeExchange): Promise<void> {
    const { database, heads, sync } = this.#deps;
    const otherPath = asRows(other).#bucketPath;
    const published = await work.transact(async (changes) => {
      const { transaction } = changes;
      const { head: mine, nowMs } = await database.heads.lock(this.#bucketPath, transaction);
      const { head: theirs } = await database.heads.lock(otherPath, transaction);
      if (mine === undefined || theirs === undefined) throw treeIsMissing();
      const { reader, metadata } = this.#openWriter({ transaction, head: mine, nowMs });
      await work.check({ reader, metadata }, changes);
      const next = { ...theirs, version: mine.version + 1, at: nowMs };
      await database.heads.write(this.#bucketPath, next, transaction);
      await database.heads.write(otherPath, { ...mine, version: theirs.version + 1, at: nowMs }, transaction);
      await work.commit(changes, next.version);
      return next;
    });
    heads.saw(this.#bucketPath, published);
    this.#onChanged("exchanged");
    if (sync) await database.flush();
    const { version, root } = published;
    this.#onDone?.(work.changes ?? [], { before: version - 1, after: version, root });
  }

  #openWriter({ transaction, head, nowMs }: LockedBucket): EntryWriter {
    const { database, keepRemovedMs, stopping } = this.#deps;
    const entries = database.entries.held(transaction);
    const located = new Map<TreePath, LocatedPath>();
    return new EntryWriter({
      bucketPath: this.#bucketPath,
      reader: new EntryReader({ ...this.#readerOptions, entries, located }),
      metadata: this.metadata.within(metadataRowsWithin(database, transaction, nowMs)),
      transaction,
      entries,
      findVersion: (wanted) => this.versions.find(wanted, { transaction, nowMs }),
      located,
      head,
      nowMs,
      keepRemovedMs,
      stopping,
    });
  }
}

function asRows(tree: Tree): RowTree {
  if (tree instanceof RowTree) return tree;
  throw new TypeError("the other tree is of another store");
}
