import { Fault } from "../../base/fault.ts";
import { PathMutex } from "../../base/path-mutex.ts";
import type { StoreActivity } from "../bucket-stores.ts";
import {
  type BucketView,
  type FileStore,
  keepsNoVersions,
  type ResolvedPath,
  type SourceAndTarget,
  type StagedFile,
  type WriteTransaction,
} from "../file-store.ts";
import type { Metadata } from "../metadata/metadata.ts";
import type { TreePath } from "../path.ts";
import { DiskReader } from "./read.ts";
import { PathResolver } from "./resolve.ts";
import { DiskWriter, type DiskWriterOptions } from "./write.ts";

/** Turns taken for one change while another program keeps replacing the folders above its paths. */
const maxAttempts = 20;

export interface DiskStoreOptions extends DiskWriterOptions {
  readonly activity: StoreActivity;
  /** Called when files may have changed. */
  readonly onChanged: () => void;
}

/** DiskStore keeps a bucket as plain files below its folder. Its turns hold within this process only. */
export class DiskStore implements FileStore {
  readonly reader: DiskReader;
  readonly metadata: Metadata;
  readonly #writer: DiskWriter;
  readonly #mutex = new PathMutex();
  readonly #activity: StoreActivity;
  readonly #onChanged: () => void;

  constructor(root: string, options: DiskStoreOptions) {
    this.#activity = options.activity;
    this.#onChanged = options.onChanged;
    this.metadata = options.metadata;
    const paths = new PathResolver(root);
    this.reader = new DiskReader(paths);
    this.#writer = new DiskWriter(this.reader, paths, options);
  }

  async stage(content: Uint8Array | AsyncIterable<Uint8Array>, path: TreePath): Promise<StagedFile> {
    this.#activity.uploads += 1;
    try {
      return await this.#writer.stage(content, path);
    } finally {
      this.#activity.uploads -= 1;
    }
  }

  transact<T>(
    path: TreePath,
    work: (transaction: WriteTransaction, resolved: ResolvedPath) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn([path], async (isHeld) => {
      const resolved = await this.reader.resolve(path);
      return isHeld(resolved) && { result: await work(this.#writer, resolved) };
    });
  }

  transactBoth<T>(
    paths: SourceAndTarget<TreePath>,
    work: (transaction: WriteTransaction, resolved: SourceAndTarget<ResolvedPath>) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn([paths.source, paths.target], async (isHeld) => {
      const [source, target] = await Promise.all([
        this.reader.resolve(paths.source),
        this.reader.resolve(paths.target),
      ]);
      return isHeld(source, target) && { result: await work(this.#writer, { source, target }) };
    });
  }

  async transactMetadata<T>(work: (view: BucketView) => Promise<T>): Promise<T> {
    return work(this);
  }

  async history(): Promise<never> {
    throw keepsNoVersions();
  }

  /**
   * Takes a turn, in which `work` resolves the paths; it is false if they lead elsewhere than the turn is for. The first turn is by the
   * paths as requested, which are the canonical ones unless a link or another Unicode form is in them; every further turn is by what
   * `isHeld` was given. They may change during a wait, when a folder becomes a link.
   */
  async #inTurn<T>(
    requested: readonly TreePath[],
    work: (
      isHeld: (...resolved: readonly ResolvedPath[]) => boolean,
    ) => Promise<{ readonly result: T } | false>,
  ): Promise<T> {
    let held = requested;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      let canonical = held;
      const done = await this.#mutex.run(held, () =>
        work((...resolved) => {
          canonical = resolved.map(({ path }) => path);
          return canonical.every((path, at) => path === held[at]);
        }),
      );
      if (done !== false) {
        this.#onChanged();
        return done.result;
      }
      held = canonical;
    }
    throw new Fault("Busy", "the folders above this path are being replaced; nothing was changed, try again");
  }
}
