/**
 * PieceSource divides a body into pieces while it arrives. A body that fails, or is stopped, ends its piece as a whole one does,
 * so that what arrived can be stored; `failure` and `isStopped` tell afterwards.
 */
export class PieceSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #stop: AbortSignal;
  #rest: Uint8Array | undefined;
  #isEnded = false;
  failure: { readonly error: unknown } | undefined;

  constructor(content: AsyncIterable<Uint8Array>, stop: AbortSignal) {
    this.#iterator = content[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  get isStopped(): boolean {
    return this.#stop.aborted;
  }

  /** Waits until a byte has arrived; false if none will. */
  async hasMore(): Promise<boolean> {
    while (this.#rest === undefined || this.#rest.length === 0) {
      if (this.#isEnded) return false;
      await this.#read();
    }
    return true;
  }

  /** The next bytes, at most so many. */
  async *piece(maxBytes: number): AsyncGenerator<Uint8Array> {
    for (let size = 0; size < maxBytes && (await this.hasMore()); ) {
      const rest = this.#rest ?? new Uint8Array();
      const chunk = rest.subarray(0, maxBytes - size);
      this.#rest = rest.subarray(chunk.length);
      size += chunk.length;
      yield chunk;
    }
  }

  /** Tells the body that nobody reads it any more, and does not wait for it: it may be silent. */
  close(): void {
    this.#isEnded = true;
    void Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }

  async #read(): Promise<void> {
    try {
      const next = await this.#nextUnlessStopped();
      if (next === undefined || next.done) this.#isEnded = true;
      else this.#rest = next.value;
    } catch (error) {
      this.#isEnded = true;
      this.failure = { error };
    }
  }

  /** Each step has a listener of its own: one promise for all steps would keep every chunk until the end. */
  #nextUnlessStopped(): Promise<IteratorResult<Uint8Array> | undefined> {
    if (this.#stop.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const stop = () => resolve(undefined);
      const done = () => this.#stop.removeEventListener("abort", stop);
      this.#stop.addEventListener("abort", stop);
      this.#iterator.next().then(resolve, reject).finally(done);
    });
  }
}
