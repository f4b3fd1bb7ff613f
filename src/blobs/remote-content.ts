import { constants } from "node:fs";
import { Fault } from "../base/fault.ts";
import { asyncFileCalls, type FileDescriptor, writeAll } from "../base/local-fs/file-calls.ts";
import { BlobDamagedFault, type BlobStore, type ByteRange, type StoredBlob } from "./blob-store.ts";
import { type Content, type ContentSource, fetchVerified, maxShortBytes, verified } from "./content.ts";

/** MemoryContent is a short blob, fetched whole. */
export class MemoryContent implements Content {
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

  blob(range?: ByteRange): Blob {
    return new Blob([this.#part(range)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #part({ start, end }: ByteRange = { start: 0, end: this.#bytes.length - 1 }): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start, end + 1);
  }
}

interface RemoteContentOptions {
  readonly store: BlobStore;
  /** Reads what a cache has or gets of a range, from its start on: all of it, a part, or nothing. Without a cache it is undefined. */
  readonly cached?: (range: ByteRange) => AsyncGenerator<Uint8Array>;
}

/** RemoteContent is a blob that is read from its store while it is sent, through a file of the cache where there is one. */
export class RemoteContent implements Content {
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the file was closed"));
  }
}

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

  async open(blob: StoredBlob): Promise<Content> {
    if (blob.size <= maxShortBytes) return new MemoryContent(await fetchVerified(this.#store, blob, never));
    return new RemoteContent(blob, { store: this.#store });
  }
}

const chunkBytes = 192 * 1024;
const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;

/** A reader waits for bytes up to so far ahead of those that have arrived; for others it asks the store itself. */
const maxAheadBytes = 4 * 1024 * 1024;

/**
 * CacheFill writes a blob to a file while it arrives. Any number of readers read what is there already. The last byte is given out only
 * when size and hash of the whole are right. Without readers it ends.
 */
export class CacheFill {
  readonly #blob: StoredBlob;
  readonly #file: FileDescriptor;
  readonly #stop: AbortController;
  #written = 0;
  #readers = 0;
  #state: "growing" | "whole" | "wrong" | "failed" = "growing";
  #progress = Promise.withResolvers<void>();
  #isClosed = false;

  private constructor(blob: StoredBlob, file: FileDescriptor, stop: AbortController) {
    this.#blob = blob;
    this.#file = file;
    this.#stop = stop;
  }

  /** open creates the file. `stop` ends the stream that `run` gets. */
  static async open(blob: StoredBlob, path: string, stop: AbortController): Promise<CacheFill> {
    return new CacheFill(blob, await asyncFileCalls.open(path, flags, 0o600), stop);
  }

  /** Writes the stream to the file. Resolves to whether the file is whole, right and synced; fails as the disk or the stream does. */
  async run(stream: AsyncIterable<Uint8Array>): Promise<boolean> {
    const hasher = new Bun.CryptoHasher("sha256");
    try {
      for await (const chunk of stream) {
        if (this.#written + chunk.length > this.#blob.size) break;
        await writeAll(this.#file, chunk);
        hasher.update(chunk);
        this.#advance(chunk.length);
      }
      const isRight = this.#written === this.#blob.size && hasher.digest("hex") === this.#blob.sha256;
      if (isRight) await this.#file.datasync();
      this.#state = isRight ? "whole" : "wrong";
      return isRight;
    } finally {
      if (this.#state === "growing") this.#state = "failed";
      this.#advance(0);
      await this.#closeIfUnused();
    }
  }

  /** Whether a reader of this range would soon get its first byte. */
  serves({ start }: ByteRange): boolean {
    return this.#state === "whole" || (this.#state === "growing" && start <= this.#written + maxAheadBytes);
  }

  /** Reads a range while it arrives. Ends early, without an error, if the fill failed: the rest is to be read from the store. */
  async *chunks({ start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    if (this.#isClosed) return;
    this.#readers += 1;
    try {
      for (let at = start; at <= end; ) {
        const available = Math.min(this.#readable, end + 1) - at;
        if (available > 0) {
          const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, available));
          const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, at).catch(nothingRead);
          if (bytesRead === 0) return;
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
        } else if (this.#state === "wrong") throw new BlobDamagedFault(this.#blob.key);
        else if (this.#state === "failed") return;
        else await this.#progress.promise;
      }
    } finally {
      this.#readers -= 1;
      await this.#closeIfUnused();
    }
  }

  get #readable(): number {
    return this.#state === "whole" ? this.#blob.size : Math.min(this.#written, this.#blob.size - 1);
  }

  #advance(bytes: number): void {
    this.#written += bytes;
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }

  async #closeIfUnused(): Promise<void> {
    if (this.#readers > 0 || this.#isClosed) return;
    if (this.#state === "growing")
      return this.#stop.abort(new Fault("IoError", "nobody reads the file any more"));
    this.#isClosed = true;
    await this.#file.close();
  }
}

/** The store has what the disk cannot read back. */
function nothingRead(): { readonly bytesRead: number } {
  return { bytesRead: 0 };
}
