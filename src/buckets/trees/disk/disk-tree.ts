// This folder keeps the trees of buckets as plain files below `static_path`. disk-storage.ts opens the DiskTree of
// this file for each bucket. resolve.ts maps a path to the disk and proves that it stays inside the bucket; read.ts
// and write.ts read and change what it finds. New content is complete in staging.ts before a rename puts it in place.
// local-paths.ts does the short cases of a local disk without waiting. entry.ts says what a file is and whether it changed
// since; copy.ts and remove-tree.ts work on whole trees.

import { PathMutex } from "../../../base/concurrency.ts";
import { Fault } from "../../../base/fault.ts";
import { asyncFileCalls } from "../../../base/local-fs/file-calls.ts";
import { statOrUndefined } from "../../../base/local-fs/stat.ts";
import type { FileChange } from "../../events.ts";
import type { DiskHistory, TreeHistory } from "../../history/disk/disk-history.ts";
import type { Metadata } from "../../metadata/metadata.ts";
import { type TreePath, treeRoot } from "../../path.ts";
import type {
  BucketView,
  OpenBucket,
  RecordOf,
  ResolvedPaths,
  ReuseOptions,
  StagedFile,
  Tree,
  TreeExchange,
  WantedFile,
  WriteTransaction,
} from "../../ports.ts";
import { toTreeFault } from "./disk-faults.ts";
import { DiskReader } from "./read.ts";
import { PathResolver } from "./resolve.ts";
import type { Staging } from "./staging.ts";
import { DiskWriter, type DiskWriterOptions } from "./write.ts";

/** Turns taken for one change while another program keeps replacing the folders above its paths. */
const maxAttempts = 20;

export interface DiskTreeOptions extends Omit<DiskWriterOptions, "history" | "calls"> {
  readonly bucket: OpenBucket["bucket"];
  readonly history: DiskHistory;
  /** Called when files may have changed. */
  readonly onChanged: OpenBucket["onChanged"];
  readonly onDone?: OpenBucket["onDone"];
}

/** DiskTree keeps a bucket as plain files below its folder. Its turns hold within this process only. */
export class DiskTree implements Tree {
  readonly reader: DiskReader;
  readonly metadata: Metadata;
  readonly versions: TreeHistory;
  readonly #paths: PathResolver;
  readonly #writer: DiskWriter;
  readonly #mutex = new PathMutex();
  readonly #staging: Staging;
  readonly #stageOptions: Parameters<Staging["stage"]>[1];
  readonly #onChanged: OpenBucket["onChanged"];
  readonly #onDone: OpenBucket["onDone"];

  constructor(root: string, options: DiskTreeOptions) {
    const { bucket, history, sync } = options;
    this.#onChanged = options.onChanged;
    this.#onDone = options.onDone;
    this.metadata = options.metadata;
    this.#paths = new PathResolver(root);
    this.reader = new DiskReader(this.#paths);
    const [reader, paths] = [this.reader, this.#paths];
    // Beside syncs, changes of names and times may have to wait until the file system has written its journal.
    const calls = sync ? asyncFileCalls : paths.calls;
    this.#staging = options.staging;
    this.#stageOptions = { sync, calls };
    this.versions = history.ofTree({ bucket, reader, paths, calls });
    this.#writer = new DiskWriter(reader, paths, { ...options, history: this.versions, calls });
  }

  async stage(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    path: TreePath,
    record?: RecordOf,
  ): Promise<StagedFile> {
    try {
      return await this.#staging.stage(content, { ...this.#stageOptions, record });
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }

  /**
   * The turn is for the requested paths at first. If a link or another Unicode form is in them, they are resolved to others: then
   * the next turn is for those. They may change during a wait, when a folder becomes a link.
   */
  async transact<const P extends readonly TreePath[], T>(
    paths: P,
    work: (transaction: WriteTransaction, resolved: ResolvedPaths<P>) => Promise<T>,
    changes?: readonly FileChange[],
  ): Promise<T> {
    let held: readonly TreePath[] = paths;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      let canonical = held;
      const done = await this.#mutex.run(held, async () => {
        const resolved = await Promise.all(paths.map((path) => this.reader.resolve(path)));
        canonical = resolved.map(({ path }) => path);
        if (canonical.some((path, at) => path !== held[at])) return undefined;
        return { result: await work(this.#writer, resolved as ResolvedPaths<P>) };
      });
      if (done !== undefined) {
        this.#onChanged();
        if (changes !== undefined) this.#onDone?.(changes);
        return done.result;
      }
      held = canonical;
    }
    throw new Fault("Busy", "the folders above this path are being replaced; nothing was changed, try again");
  }

  async transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T> {
    return work(this);
  }

  /** The folder keeps its inode when it gets another name. */
  async treeId(): Promise<string | undefined> {
    try {
      const stats = await statOrUndefined(this.#paths.root, this.#paths.calls.lstat);
      return stats && `${stats.dev}:${stats.ino}`;
    } catch (error) {
      throw toTreeFault(error, treeRoot);
    }
  }

  async version(): Promise<null> {
    return null;
  }

  reuse(
    source: Tree,
    files: readonly WantedFile[],
    { sourcesOf, signal, check }: ReuseOptions,
  ): Promise<WantedFile[]> {
    return this.versions.reuse(files, {
      source: asDisk(source).reader,
      sourcesOf,
      signal,
      inTurn: (folder, work) =>
        this.#mutex.run([folder], async () => {
          await check();
          return work();
        }),
    });
  }

  /** The turn of the bucket is taken before that of the other tree. */
  async exchangeWith(other: Tree, work: TreeExchange): Promise<void> {
    const theirs = asDisk(other);
    await this.#mutex.run([treeRoot], () =>
      theirs.#mutex.run([treeRoot], () => this.versions.exchangeWith(theirs.versions, this, work)),
    );
    this.#onChanged("exchanged");
    this.#onDone?.(work.changes ?? []);
  }
}

function asDisk(tree: Tree): DiskTree {
  if (tree instanceof DiskTree) return tree;
  throw new TypeError("the other tree is of another store");
}
