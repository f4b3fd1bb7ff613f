import type { BlobStore, StoredBlob } from "./blob-store.ts";
import type { BlobContent, ContentSource } from "./content-source.ts";
import { RemoteContent } from "./remote-content.ts";

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
    return new RemoteContent(blob, { store: this.#store, fill: async () => undefined });
  }
}
