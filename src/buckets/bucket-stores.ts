import type { DatabaseTransaction } from "../db/dialect.ts";
import type { HeadValue } from "../db/rows/entry-values.ts";
import type { Metadata } from "./metadata/metadata.ts";
import type { Bucket } from "./record.ts";
import type { TreeStore } from "./tree-store.ts";
import type { PartialContents } from "./uploads/partial-content.ts";

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** StoreHealth is whether the store of all buckets can be used. */
export interface StoreHealth {
  /** How often the store was lost since it was opened. */
  readonly losses: number;
  /** True if the last look found a problem. */
  readonly isLost: boolean;
  /** True if the last look found that all files look deleted although they are not, as those of a disk that is not mounted. */
  readonly isMissing: boolean;
  /** True if the store did not answer the last look: an upload can be refused before its body is read. */
  readonly isAway: boolean;
  /** The space of the disk that has the files, at the last look. Undefined if the store has none of its own, or while that is not known. */
  readonly space: DiskSpace | undefined;
  /** Looks at the store now, for a bounded time. Callers share a look that is under way. Does not reject. */
  look(): Promise<void>;
}

/** StoreActivity is what stores report to those who measure them. */
export interface StoreActivity {
  /** Files whose content is arriving. */
  uploads: number;
}

/**
 * HeadListener is told what looks at the records of buckets found of their files. `begunAt` is when the look began, by
 * `performance.now()`.
 */
export interface HeadListener {
  /** `head` is undefined if the bucket has none. */
  looked(bucketPath: string, head: HeadValue | undefined, begunAt: number): void;
  /** Known answers may be used for longer, until the next `looked`. */
  databaseIsAway(): void;
}

export interface OpenBucket {
  readonly bucket: Pick<Bucket, "name" | "path">;
  readonly metadata: Metadata;
  /** Called when files may have changed; `exchanged` if the whole tree has another place now. */
  readonly onChanged: (how?: "exchanged") => void;
}

/** PlaceClaim is a new or changed record of a bucket that wants its place in the store. */
export interface PlaceClaim {
  /** The bucket's path, its form checked. */
  readonly path: string;
  /** Whether a place that has files may be taken: they are served to everybody from then on. */
  readonly mayTakeOver: boolean;
  /** The transaction that writes the record. What the store writes to the database must be a part of it. */
  readonly transaction: DatabaseTransaction;
}

/** BucketStores keeps the files of all buckets. */
export interface BucketStores {
  readonly health: StoreHealth;
  readonly activity: StoreActivity;
  /** The content of resumable uploads. */
  readonly partialContents: PartialContents;
  /** Undefined if the state of the files is not in the database. */
  readonly heads?: HeadListener;
  /**
   * Returns the id of the store, equal for all nodes that share it; `disk` for plain files. Throws what an operator has to do if
   * the files of this database are in another store, or if the store is that of another database. To be called before the first
   * use.
   */
  admit(): Promise<string>;
  /** The store of one bucket. The caller opens it once and keeps it; there is nothing to close. */
  open(options: OpenBucket): TreeStore;
  /** Creates the place of a bucket, or takes the one that exists. InvalidInput if that has files, unless `mayTakeOver`. */
  claim(claim: PlaceClaim): Promise<void>;
  /** Creates the place of a bucket whose record exists again, if it is missing. */
  restore(claim: Omit<PlaceClaim, "mayTakeOver">): Promise<void>;
  /** Deletes the tree at a place, which neither a record nor a deploy has any more. May take long. */
  discard(path: string): Promise<void>;
  /** Throws if the tree of a bucket could not be exchanged with one at a place that is still to be made, whatever is in them. */
  assertExchangeable(path: string, other: string): Promise<void>;
  /** Finishes or undoes the exchange of two trees that a crash interrupted, so that there is a tree at both places. */
  settleExchange(path: string, other: string): Promise<void>;
  /**
   * Those of these paths of buckets that have no place in this store. Requests for their files fail until `restore`, or until
   * they are copied there.
   */
  missing(paths: readonly string[]): Promise<string[]>;
  /**
   * Finishes or undoes what a crash of this server interrupted. To be called once, before any change. Returns what could not be
   * cleared.
   */
  clear(): Promise<string[]>;
  /** Ends running copies because the server stops; they remove what they made so far. */
  stopCopies(): void;
  /** Begins what the store does by itself. To be called once its configuration is in force. */
  start(): void;
  /**
   * Ends what runs in the background; calls that run may still use the stores until the database is closed, which has to wait until this
   * resolves.
   */
  close(): Promise<void>;
}
