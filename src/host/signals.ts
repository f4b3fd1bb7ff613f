/**
 * StopRequests are the requests to stop the server: the first one begins the stop, further ones cut short what it waits for, or
 * end the process.
 */
export class StopRequests {
  readonly #requested = Promise.withResolvers<string>();
  readonly #abort = new AbortController();
  readonly #endNow: () => void;
  #cutShort: (() => void) | undefined;
  #name: string | undefined;

  /** `endNow` ends the process. */
  constructor(endNow: () => void) {
    this.#endNow = endNow;
  }

  /** The signal of the first request; undefined before. */
  get name(): string | undefined {
    return this.#name;
  }

  /** Resolves with the first request. */
  get requested(): Promise<string> {
    return this.#requested.promise;
  }

  /** Aborts with the first request. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The first request; does nothing after it. */
  request(name: string): void {
    if (this.#name !== undefined) return;
    this.#name = name;
    this.#abort.abort();
    this.#requested.resolve(name);
  }

  /** A further request. */
  again(): void {
    if (this.#cutShort === undefined) this.#endNow();
    else this.#cutShort();
  }

  /** Waits, or until a further request. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#cutShort = resolve;
    await promise;
    clearTimeout(timer);
    this.#cutShort = undefined;
  }
}

/**
 * ReloadRequests are the requests to read the configuration again. One that comes while the server starts is kept until it can be
 * done: the start may have read the file before it was changed.
 */
export class ReloadRequests {
  #reload: (() => Promise<unknown>) | undefined;
  #isWaiting = false;

  request(): void {
    if (this.#reload === undefined) this.#isWaiting = true;
    else void this.#reload();
  }

  /** Reloads by `reload` from now on, at once if a request waits for it. */
  begin(reload: () => Promise<unknown>): void {
    this.#reload = reload;
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    void reload();
  }

  /** Lets requests wait until the next `begin`. */
  pause(): void {
    this.#reload = undefined;
  }
}
