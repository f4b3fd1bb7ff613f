// This folder keeps immutable content under random keys, for trees whose names are rows. This file has the interface
// and its faults; blob-kind.ts says what a kind of store declares, and open-blobs.ts has a row for each: folder.ts
// (files of a folder) and s3.ts, which sends the requests of s3-requests.ts, each within a deadline. To send content,
// content.ts is the interface: a folder sends its files, every other kind goes through the files of cache.ts, filled as
// remote-content.ts reads them. What is written is counted and hashed on its way.

import { Fault } from "../base/fault.ts";
import type { DiskUsage } from "../base/local-fs/stat.ts";

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

/** ByteRange is a part of a file's content; its bytes exist in the file. */
export interface ByteRange {
  readonly start: number;
  /** The last byte, included. */
  readonly end: number;
}

/** BlobPurpose is written beside a blob where the store can, for people who look into it. */
export interface BlobPurpose {
  /** Bucket and path of the file, for instance `site/index.html`. */
  readonly path: string;
  /** The key of a blob that is copied from another store, in place of a new one. What this store has under the key is replaced. */
  readonly key?: string;
}

/**
 * BlobStore keeps immutable content under random keys, for instance in a folder. Its methods throw a Fault: IoError with
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

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** newBlobKey returns a random UUID (version 7): keys sort by the time at which they were made. */
export function newBlobKey(): string {
  return Bun.randomUUIDv7();
}

/** isBlobKey returns whether a name in the store is that of a blob. */
export function isBlobKey(name: string): boolean {
  return form.test(name);
}

/** blobKeyTimeMs returns when the key was made, in Unix milliseconds, by the clock of the node that made it. */
export function blobKeyTimeMs(key: string): number {
  return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
}

interface BlobStoreFaultOptions {
  /** The detail for clients, who cannot change the configuration or the network of the server. */
  readonly publicDetail: string;
  readonly reason?: "unavailable" | "disk_full" | "blob_missing";
  readonly blob?: string;
  readonly cause?: unknown;
}

/** BlobStoreFault is a failure of the blob store. Its detail is for the operator, and has advice about the configuration. */
export class BlobStoreFault extends Fault {
  readonly publicDetail: string;

  constructor(detail: string, { publicDetail, reason, blob, cause }: BlobStoreFaultOptions) {
    const data = { ...(reason !== undefined && { reason }), ...(blob !== undefined && { blob }) };
    super("IoError", detail, data, { cause });
    this.publicDetail = publicDetail;
  }
}

/** publicDetailOf returns the detail of a fault as strangers may read it. */
export function publicDetailOf(fault: Fault): string {
  return fault instanceof BlobStoreFault ? fault.publicDetail : fault.detail;
}

/** BlobMissingFault says that the store answers, but does not hold a blob that the database names, or holds other content under its key. */
export class BlobMissingFault extends BlobStoreFault {
  constructor(key: string, options: { readonly problem?: string; readonly cause?: unknown } = {}) {
    const { problem = "missing from the store", cause } = options;
    const publicDetail = `the content of the file is ${problem}`;
    super(`${publicDetail}; restore it from a backup, or upload the file again`, {
      publicDetail,
      reason: "blob_missing",
      blob: key,
      cause,
    });
  }
}

/** BlobDamagedFault says that a blob does not have the size or hash that the database names. It may have been damaged on its way only. */
export class BlobDamagedFault extends BlobMissingFault {
  constructor(key: string) {
    super(key, { problem: "damaged in the store" });
  }
}

/**
 * storeUnavailable returns the Fault of a store that cannot be reached, or does not answer in time. It passes by itself, or an
 * operator ends it.
 */
export function storeUnavailable(detail: string, cause?: unknown): BlobStoreFault {
  return new BlobStoreFault(detail, {
    publicDetail: "the file store does not answer",
    reason: "unavailable",
    cause,
  });
}

/** storeUnusable returns the Fault of a store that refuses until an operator has changed something. */
export function storeUnusable(detail: string, cause?: unknown): BlobStoreFault {
  return new BlobStoreFault(detail, { publicDetail: "the file store cannot be used now", cause });
}

/** `checkProbe` is the content of the blob that `BlobStore.check` writes, reads and deletes. */
export const checkProbe = Buffer.from("node-server checks that it can write here\n");

/** The time to read one blob. */
const maxReadMs = 30_000;

/** isCheckProbe returns whether a listed blob is that of a check: of a node that starts at this moment, or that was killed meanwhile. */
export async function isCheckProbe(blobs: BlobStore, { key, size }: BlobInfo): Promise<boolean> {
  if (size !== checkProbe.length) return false;
  try {
    const content = await blobs.get(key, undefined, AbortSignal.timeout(maxReadMs));
    return checkProbe.equals(await new Response(content).bytes());
  } catch (error) {
    // The check has ended and deleted it.
    if (error instanceof BlobMissingFault) return true;
    throw error;
  }
}
