export interface PulledOptions {
  /** Of a client that leaves. Bun may drop the body of its response without cancelling it. */
  readonly left?: AbortSignal;
  /** Ends the wait for a piece that is being made when the reader leaves. */
  readonly interrupt?: () => unknown;
  /** Called once, when no piece is made any more: all were taken, one failed, or the reader left, also before the first one. */
  readonly onEnd?: () => unknown;
}

/** `pulledStream` returns a stream whose next piece is made when its reader has room for it. */
export function pulledStream(
  pieces: AsyncGenerator<Uint8Array>,
  options: PulledOptions,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new PulledPieces(pieces, options), { highWaterMark: 0 });
}

class PulledPieces {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  readonly #options: PulledOptions;
  readonly #leave = () => void this.#stop();
  #isCancelled = false;
  #hasEnded = false;
  #stopping: Promise<void> | undefined;

  constructor(pieces: AsyncGenerator<Uint8Array>, options: PulledOptions) {
    this.#pieces = pieces;
    this.#options = options;
    options.left?.addEventListener("abort", this.#leave);
    if (options.left?.aborted) this.#leave();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const { done, value } = await this.#pieces.next();
      // A reader that left while the piece was made gets nothing any more, not even a failure.
      if (this.#isCancelled) return;
      if (!done) return controller.enqueue(value);
      controller.close();
    } catch (error) {
      if (this.#isCancelled) return;
      controller.error(error);
    }
    await this.#end();
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    if (!this.#hasEnded) this.#stopping ??= this.#return();
    await this.#stopping;
  }

  async #return(): Promise<void> {
    try {
      await this.#options.interrupt?.();
      await this.#pieces.return(undefined);
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.left?.removeEventListener("abort", this.#leave);
    await this.#options.onEnd?.();
  }
}
