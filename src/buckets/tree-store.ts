import type { DeployChanges } from "../db/rows/deploy-rows.ts";
import type { BucketView, FileStore } from "./file-store.ts";
import type { TreePath } from "./path.ts";

/** WantedFile is a file that a tree is to have. */
export interface WantedFile {
  readonly path: TreePath;
  /** In bytes. */
  readonly size: number;
  /** In hexadecimal, lower case. */
  readonly sha256: string;
}

/**
 * TreeExchange is what belongs to the exchange of two trees. A store whose names are rows does it in one transaction: `check`,
 * the exchange, `commit`. A disk cannot take part in a transaction: `check` and `begin` are in one before the exchange, and
 * `commit`, or `cancel` if it failed, in one after it; a start after a crash finds what `begin` wrote.
 */
export interface TreeExchange {
  /** Runs work in a transaction in which nobody else changes the deploys of the bucket. */
  transact<T>(work: (changes: DeployChanges) => Promise<T>): Promise<T>;
  /** Throws what forbids the exchange. It is called while nobody changes either tree. */
  check(view: BucketView, changes: DeployChanges): Promise<void>;
  begin(changes: DeployChanges): Promise<void>;
  commit(changes: DeployChanges, version: number | null): Promise<void>;
  cancel(changes: DeployChanges): Promise<void>;
  /** Makes what was written durable, so that a power cut cannot undo it. */
  flush(): Promise<void>;
}

export interface TakeOptions {
  readonly signal: AbortSignal;
  /** Throws if the tree may not be changed any more. It is called whenever that cannot change before the next step is done. */
  check(): Promise<void>;
}

/** TreeStore is the store of one bucket, or of a deploy of it, and what can be done with the whole tree. */
export interface TreeStore extends FileStore {
  /**
   * Names the tree whichever place it has; null if the store needs no name to know which tree is where, undefined if there is
   * none at this place.
   */
  treeId(): Promise<string | null | undefined>;
  /** The version of the bucket's files; null if the store counts none. */
  version(): Promise<number | null>;
  isEmpty(): Promise<boolean>;
  /**
   * Takes over the files that `source` has with the same content, at whatever path, and returns those that neither it nor this
   * tree has. What was taken over survives a power cut as uploads do.
   */
  take(source: TreeStore, files: readonly WantedFile[], options: TakeOptions): Promise<WantedFile[]>;
  /** Exchanges the whole tree with another one of the same kind, at once for every reader and after all earlier changes of both. */
  exchangeWith(other: TreeStore, work: TreeExchange): Promise<void>;
}
