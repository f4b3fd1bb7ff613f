import type { BlobStore, StoredBlob } from "./blob-store.ts";
import type { BlobContent, ContentSource } from "./content-source.ts";
import { MemoryContent, RemoteContent } from "./remote-content.ts";
import { fetchVerified, maxShortBytes } from "./verified-content.ts";

const never = new AbortController().signal;

/** UncachedContent reads every blob from its store, for commands that read each once. */
export class UncachedContent implements ContentSource {
  readonly #store: BlobStore;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  has(): boolean {
    return false;
  }

  hold(): undefined {
    return undefined;
  }

  async open(blob: StoredBlob): Promise<BlobContent> {
    if (blob.size <= maxShortBytes) return new MemoryContent(await fetchVerified(this.#store, blob, never));
    return new RemoteContent(blob, { store: this.#store });
  }
}
