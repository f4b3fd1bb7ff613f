import type { HeldContent, OpenFile } from "../ports.ts";
import type { StoredBlob } from "./blob-store.ts";

/**
 * BlobContent is the content of a blob, open for reading: the part of an `OpenFile` that is about content. It is to be disposed once, or
 * given away by `body`.
 */
export interface BlobContent extends AsyncDisposable, Pick<OpenFile, "bytes" | "chunks" | "body"> {}

/** ContentSource opens blobs to send them: from the folder that they are in, or through a cache on the local disk. */
export interface ContentSource {
  /** Whether `hold` would give the content now. Synchronous, and cheap. */
  has(key: string): boolean;
  /** The content as a file of a local disk, for the kernel to send; undefined if it is not there. Synchronous. */
  hold(blob: StoredBlob): HeldContent | undefined;
  /** Opens a blob, once the store has begun to answer. Throws what `BlobStore.get` throws. */
  open(blob: StoredBlob): Promise<BlobContent>;
}
