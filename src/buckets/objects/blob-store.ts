import type { ByteRange, DiskUsage } from "../ports.ts";

/** StoredBlob is content that a store holds whole and durable. */
export interface StoredBlob {
  /** A random UUID (version 7): no two blobs ever have the same key. */
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string;
}

/** BlobInfo is what a listing of the store says about a blob. It may be incomplete: only a row of the database proves a blob. */
export interface BlobInfo {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  readonly storedAtMs: number;
}

/** BlobPurpose is written beside a blob where the store can, for people who look into it. */
export interface BlobPurpose {
  /** Bucket and path of the file, for instance `site/index.html`. */
  readonly path: string;
  /** The key of a blob that is copied from another store, in place of a new one. What this store has under the key is replaced. */
  readonly key?: string;
}

/**
 * BlobStore keeps immutable content under random keys: in a folder, or in an S3-compatible store. Its methods throw a Fault: IoError with
 * the reason `unavailable` if the store cannot be reached or does not answer within its deadline, IoError with the reason `disk_full`,
 * BlobMissingFault if it holds no such blob, and IoError for everything else, with what an operator has to do.
 */
export interface BlobStore {
  /**
   * Stores content under a new key while it arrives, with flat memory. When it throws, or `signal` is aborted, nothing stays that
   * a listing would call whole.
   */
  put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    purpose: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob>;
  /** The content of a blob, or a part of it. Resolves once the store has begun to answer; the stream fails if the store ends it early. */
  get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Deletes blobs; those that do not exist are ignored. */
  delete(keys: readonly string[]): Promise<void>;
  /** All blobs, in batches, by key from `after` on. Files that are no blobs, as manifests and unfinished uploads, are left out. */
  list(after?: string): AsyncGenerator<readonly BlobInfo[]>;
  /** Deletes what uploads that were never finished left in the store, once no node can be writing to it any more. Returns how many. */
  clearUnfinished(): Promise<number>;
  /** Replaces a named text file beside the blobs, `manifests/<name>`, as a whole. The name is one segment of a path. */
  putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** The text of such a file; undefined if there is none. */
  getManifest(name: string, signal: AbortSignal): Promise<string | undefined>;
  /** The space of the disk that the store is on; a store without this method has no disk that it knows of. */
  diskUsage?(): Promise<DiskUsage>;
  /** Proves that the store can be read, written, listed and deleted from; throws what an operator has to do otherwise. */
  check(signal: AbortSignal): Promise<void>;
}
