import { pulledStream } from "../base/pulled-stream.ts";
import { nextTurn } from "../base/turns.ts";
import { BlobDamagedFault, type BlobStore, type ByteRange, type StoredBlob } from "./blob-store.ts";

/** HeldContent is the content of a file that is held open. A response with the blob must be returned before `close` is called. */
export interface HeldContent {
  readonly blob: Blob;
  close(): void;
}

export interface ChunkOptions {
  /**
   * True if the consumer is done with a chunk when it asks for the next one, whose bytes may then take its place. By default chunks
   * are the consumer's to keep.
   */
  readonly reusesMemory?: boolean;
}

/** Content is content that is open for reading, of a file or a blob. It is to be disposed once, or given away by `bodyOf`. */
export interface Content extends AsyncDisposable {
  /** The whole content in memory, as long as it was when it was opened. Fails if it became shorter since. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  /** The content, or a range of it, read while it is consumed. Fails if it became shorter than that. */
  chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array>;
  /**
   * The content, or a range of it, if it is in memory, or in a file of this machine that the kernel can send; undefined otherwise.
   * It gives the content away, as `bodyOf` does.
   */
  blob?(range?: ByteRange): Blob | undefined;
}

/**
 * `bodyOf` returns content, or a range of it, for a `Response`, and disposes the content when it needs it no more. The response must
 * be returned to the HTTP server without waiting for I/O after this call, or the content may be gone.
 */
export function bodyOf(content: Content, range?: ByteRange): Blob | ReadableStream<Uint8Array> {
  const close = () => content[Symbol.asyncDispose]();
  return content.blob?.(range) ?? pulledStream(content.chunks(range), { interrupt: close, onEnd: close });
}

/** `sha256Of` reads content whole and returns its SHA-256, in hexadecimal. */
export async function sha256Of(content: Pick<Content, "chunks">): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of content.chunks(undefined, { reusesMemory: true })) hash.update(chunk);
  return hash.digest("hex");
}

/** ContentSource opens blobs to send them: from the folder that they are in, or through a cache on the local disk. */
export interface ContentSource {
  /** Whether `hold` would give the content now. Synchronous, and cheap. */
  has(key: string): boolean;
  /** The content as a file of a local disk, for the kernel to send; undefined if it is not there. Synchronous. */
  hold(blob: StoredBlob): HeldContent | undefined;
  /** Opens a blob, once the store has begun to answer. Throws what `BlobStore.get` throws. */
  open(blob: StoredBlob): Promise<Content>;
}

/** Blobs up to this size are read into memory as a whole, and again if they arrived damaged. */
export const maxShortBytes = 256 * 1024;
/** A blob that arrives damaged may be right in the store, so it is read this many times before it counts as damaged there. */
const maxReads = 3;

/** `retryDamaged` runs `read` again while it fails with BlobDamagedFault. */
export async function retryDamaged<T>(read: () => Promise<T>): Promise<T> {
  for (let made = 1; ; made += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof BlobDamagedFault) || made === maxReads) throw error;
    }
  }
}

/** `verified` passes a whole blob on. Its last chunk is given out only if the hash is right; BlobDamagedFault otherwise. */
export async function* verified(
  content: AsyncIterable<Uint8Array>,
  { key, sha256 }: Pick<StoredBlob, "key" | "sha256">,
): AsyncGenerator<Uint8Array> {
  const hasher = new Bun.CryptoHasher("sha256");
  let last: Uint8Array | undefined;
  for await (const chunk of content) {
    if (last !== undefined) yield last;
    hasher.update(chunk);
    last = chunk;
  }
  if (hasher.digest("hex") !== sha256) throw new BlobDamagedFault(key);
  if (last !== undefined) yield last;
}

/** `fetchVerified` reads a short blob into memory, again if it arrives damaged. */
export function fetchVerified(
  store: BlobStore,
  blob: StoredBlob,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const whole = { start: 0, end: blob.size - 1 };
  return retryDamaged(async () => {
    const bytes = new Uint8Array(await new Response(await store.get(blob.key, whole, signal)).arrayBuffer());
    const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    if (hash !== blob.sha256) throw new BlobDamagedFault(blob.key);
    return bytes;
  });
}

/** Bytes that are hashed at once, in about a millisecond. */
const pieceBytes = 1024 * 1024;

/** HashedContent hands content on while it arrives, and counts and hashes it on the way. */
export class HashedContent implements AsyncIterable<Uint8Array> {
  readonly #content: Uint8Array | AsyncIterable<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  #size = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(content: Uint8Array | AsyncIterable<Uint8Array>, signal: AbortSignal) {
    this.#content = content;
    this.#signal = signal;
  }

  /** The number of bytes that were handed on so far. */
  get size(): number {
    return this.#size;
  }

  /** The hash of everything, in hexadecimal. To be called once, after the last chunk. */
  sha256(): string {
    return this.#hasher.digest("hex");
  }

  /** The error of the source, if it failed: a client that went away is not a failure of the store. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Counts and hashes everything, for content that is in memory and is used from there. */
  async drain(): Promise<void> {
    for await (const _ of this);
  }

  /** Fails with the signal's reason as soon as it is aborted, even while the source sends nothing. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      if (this.#content instanceof Uint8Array) yield* this.#pieces(this.#content);
      else for await (const chunk of untilAborted(this.#content, this.#signal)) yield* this.#pieces(chunk);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async *#pieces(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      if (at > 0) await nextTurn();
      this.#signal.throwIfAborted();
      const piece = chunk.subarray(at, at + pieceBytes);
      this.#hasher.update(piece);
      this.#size += piece.length;
      yield piece;
    }
  }
}

/**
 * untilAborted yields a stream that fails as soon as the signal is aborted. The source is then told to end, and not waited for: it may be
 * silent. Each step has a promise of its own: `Promise.race` with one promise for all steps would keep every chunk until the end.
 */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let fail: (reason: unknown) => void = () => {};
  const abort = () => fail(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  let isDone = false;
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        fail = reject;
        iterator.next().then(resolve, reject);
      });
      isDone = next.done === true;
      if (next.done) return;
      yield next.value;
      signal.throwIfAborted();
    }
  } catch (error) {
    isDone ||= !signal.aborted;
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
    if (!isDone) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
