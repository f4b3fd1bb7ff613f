import type { Database } from "../db/database.ts";
import { metadataRows } from "../db/rows/metadata-rows.ts";
import { BucketFiles } from "./bucket-files.ts";
import type { BucketPlace, OpenedTree } from "./history/deploy-care.ts";
import { Metadata } from "./metadata/metadata.ts";
import type { BucketStores, OpenBucket } from "./ports.ts";

export interface OpenedTreesOptions {
  readonly database: Database;
  readonly stores: BucketStores;
  /** Called when files of a bucket or a deploy may have changed. */
  readonly onChanged: (bucket: BucketPlace, ...how: Parameters<OpenBucket["onChanged"]>) => void;
}

/** OpenedTrees opens the files of buckets and deploys once for each name and path, so that every request waits for the same turns. */
export class OpenedTrees {
  readonly #options: OpenedTreesOptions;
  readonly #opened = new Map<string, OpenedTree>();

  constructor(options: OpenedTreesOptions) {
    this.#options = options;
  }

  open({ name, path }: BucketPlace): OpenedTree {
    const key = `${name}\n${path}`;
    const present = this.#opened.get(key);
    if (present !== undefined) return present;
    const { database, stores, onChanged } = this.#options;
    const bucket = { name, path };
    const metadata = Metadata.ofBucket(name, metadataRows(database));
    const store = stores.open({ bucket, metadata, onChanged: (how) => onChanged(bucket, how) });
    const opened = { store, files: new BucketFiles(store, metadata) };
    this.#opened.set(key, opened);
    return opened;
  }

  /** forget lets the next `open` open it again. Nobody may change files through what was opened before. */
  forget({ name, path }: BucketPlace): void {
    this.#opened.delete(`${name}\n${path}`);
  }
}
