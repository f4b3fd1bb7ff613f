import { nextTurn } from "../base/turns.ts";

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
