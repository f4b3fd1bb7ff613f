import { z } from "zod";
import { key } from "../../src/base/config-key.ts";
import { type BlobKind, wrongUrl } from "../../src/blobs/blob-kind.ts";
import {
  type BlobInfo,
  BlobMissingFault,
  type BlobPurpose,
  type BlobStore,
  type ByteRange,
  checkProbe,
  isBlobKey,
  newBlobKey,
  type StoredBlob,
  storeUnusable,
} from "../../src/blobs/blob-store.ts";
import { HashedContent } from "../../src/blobs/content.ts";

const memoryKeys = {
  memory_password: key("text", z.string().min(1).optional(), "The password of the memory.", {
    isSecret: true,
  }),
};

/** A third kind of blob store, which is in the memory of the process: this file and a row are all of it. */
export const memoryKind: BlobKind<typeof memoryKeys> = {
  scheme: "memory",
  form: "memory://name",
  keys: memoryKeys,
  variables: { MEMORY_PASSWORD: "memory_password" },
  checkUrl: nameIn,
  missing: ({ memory_password }) => (memory_password === undefined ? "needs memory_password" : undefined),
  open: ({ url, memory_password }) => new MemoryBlobs(nameIn(url), memory_password),
};

function nameIn(url: string): string {
  const [, name] = /^memory:\/\/([a-z0-9-]+)$/.exec(url) ?? [];
  if (name === undefined) throw wrongUrl('must name the memory, such as "memory://name"');
  return name;
}

interface StoredContent {
  readonly content: Uint8Array<ArrayBuffer>;
  readonly storedAtMs: number;
}

/** The content of all stores, by name; they last as long as the process. */
const memories = new Map<string, Map<string, StoredContent>>();

class MemoryBlobs implements BlobStore {
  readonly #password: string | undefined;
  readonly #stored: Map<string, StoredContent>;

  constructor(name: string, password: string | undefined) {
    this.#password = password;
    this.#stored = memories.getOrInsertComputed(name, () => new Map());
  }

  async put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { key = newBlobKey() }: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob> {
    const hashed = new HashedContent(content, signal);
    await this.#keep(key, hashed);
    return { key, size: hashed.size, sha256: hashed.sha256() };
  }

  async get(key: string, range: ByteRange | undefined): Promise<ReadableStream<Uint8Array>> {
    const stored = this.#stored.get(key);
    if (stored === undefined) throw new BlobMissingFault(key);
    const { start, end } = range ?? { start: 0, end: stored.content.length - 1 };
    return new Blob([stored.content.subarray(start, end + 1)]).stream();
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#stored.delete(key);
  }

  async *list(after = ""): AsyncGenerator<readonly BlobInfo[]> {
    const keys = [...this.#stored.keys()].filter((key) => isBlobKey(key) && key > after).sort();
    for (const key of keys) {
      const stored = this.#stored.get(key);
      if (stored !== undefined) yield [{ key, size: stored.content.length, storedAtMs: stored.storedAtMs }];
    }
  }

  async clearUnfinished(): Promise<number> {
    return 0;
  }

  async putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    await this.#keep(`manifests/${name}`, new HashedContent(content, signal));
  }

  async getManifest(name: string): Promise<string | undefined> {
    const stored = this.#stored.get(`manifests/${name}`);
    return stored && Buffer.from(stored.content).toString();
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#password !== "open")
      throw storeUnusable("the memory refused memory_password; correct it below [files]");
    const { key } = await this.put(checkProbe, { path: "check" }, signal);
    await this.delete([key]);
  }

  async #keep(key: string, content: HashedContent): Promise<void> {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(Buffer.from(part));
    this.#stored.set(key, { content: new Uint8Array(Buffer.concat(parts)), storedAtMs: Date.now() });
  }
}
