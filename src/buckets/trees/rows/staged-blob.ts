import { messageOf } from "../../../base/fault.ts";
import type { BlobStore, StoredBlob } from "../../../blobs/blob-store.ts";
import type { Logger } from "../../../log/hub.ts";
import type { StagedFile } from "../../ports.ts";

interface StagedBlobOptions {
  /** Undefined for empty content. */
  readonly blob: StoredBlob | undefined;
  readonly blobs: Pick<BlobStore, "delete">;
  readonly record?: Uint8Array | undefined;
  readonly log: Logger;
}

/** StagedBlob is uploaded content that no entry names yet. */
export class StagedBlob implements StagedFile {
  readonly blob: StoredBlob | undefined;
  readonly record: Uint8Array | undefined;
  /** Whether an entry names the blob, or may do so: then it must not be deleted. */
  isNamed = false;
  readonly #options: StagedBlobOptions;

  constructor(options: StagedBlobOptions) {
    this.blob = options.blob;
    this.record = options.record;
    this.#options = options;
  }

  static from(staged: StagedFile): StagedBlob {
    if (staged instanceof StagedBlob) return staged;
    throw new TypeError("the content was staged in another store");
  }

  get size(): number {
    return this.blob?.size ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isNamed || this.blob === undefined) return;
    const { blobs, log } = this.#options;
    try {
      await blobs.delete([this.blob.key]);
    } catch (error) {
      // The daily sweep deletes blobs that no entry names.
      log.debug("the blob of a refused upload cannot be deleted now", { reason: messageOf(error) });
    }
  }
}
