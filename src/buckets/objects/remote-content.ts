import { pulledStream } from "../../base/pulled-stream.ts";
import type { ByteRange } from "../ports.ts";
import type { BlobStore, StoredBlob } from "./blob-store.ts";
import type { BlobContent } from "./content-source.ts";
import { verified } from "./verified-content.ts";

/** MemoryContent is a short blob, fetched whole. */
export class MemoryContent implements BlobContent {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes;
  }

  async *chunks(range?: ByteRange): AsyncGenerator<Uint8Array> {
    yield this.#part(range);
  }

  body(range?: ByteRange): Blob {
    return new Blob([this.#part(range)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #part({ start, end }: ByteRange = { start: 0, end: this.#bytes.length - 1 }): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start, end + 1);
  }
}

export interface RemoteContentOptions {
  readonly store: BlobStore;
  /** Reads what a cache has or gets of a range, from its start on: all of it, a part, or nothing. Without a cache it is undefined. */
  readonly cached?: (range: ByteRange) => AsyncGenerator<Uint8Array>;
}

/** RemoteContent is a blob that is read from its store while it is sent, through a file of the cache where there is one. */
export class RemoteContent implements BlobContent {
  readonly #blob: StoredBlob;
  readonly #options: RemoteContentOptions;
  readonly #stop = new AbortController();

  constructor(blob: StoredBlob, options: RemoteContentOptions) {
    this.#blob = blob;
    this.#options = options;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(this.#blob.size);
    let at = 0;
    for await (const chunk of this.chunks()) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /** A part is passed on as the store sends it: only the whole has a hash. */
  async *chunks(range: ByteRange = { start: 0, end: this.#blob.size - 1 }): AsyncGenerator<Uint8Array> {
    const isWhole = range.start === 0 && range.end === this.#blob.size - 1;
    yield* isWhole ? verified(this.#arriving(range), this.#blob) : this.#arriving(range);
  }

  async *#arriving(range: ByteRange): AsyncGenerator<Uint8Array> {
    let at = range.start;
    for await (const chunk of this.#options.cached?.(range) ?? []) {
      at += chunk.length;
      yield chunk;
    }
    if (at > range.end) return;
    const rest = { start: at, end: range.end };
    yield* await this.#options.store.get(this.#blob.key, rest, this.#stop.signal);
  }

  body(range?: ByteRange): ReadableStream<Uint8Array> {
    const interrupt = () => this.#stop.abort(new Error("the reader went away"));
    return pulledStream(this.chunks(range), { interrupt });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the file was closed"));
  }
}
