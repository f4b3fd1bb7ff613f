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
