import { TimedOut } from "./errors.ts";

/** What may end a request before its answer: the caller's signal, or time. */
export class Deadline {
  readonly #stop = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #late: TimedOut | undefined;

  constructor(
    private readonly caller: AbortSignal | undefined,
    timeoutMs: number | undefined,
    what: string,
  ) {
    if (caller?.aborted) this.#stop.abort(caller.reason);
    caller?.addEventListener("abort", this.#follow);
    if (timeoutMs === undefined || timeoutMs <= 0) return;
    this.#timer = setTimeout(() => {
      this.#late = new TimedOut(`${what} did not answer within ${timeoutMs} ms`);
      this.#stop.abort(this.#late);
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Throws what ended the request, if it was not the network. */
  throwIfOver(): void {
    if (this.caller?.aborted) throw this.caller.reason;
    if (this.#late !== undefined) throw this.#late;
  }

  /** Must be called when the request is over, so that neither timer nor listener outlives it. */
  clear(): void {
    clearTimeout(this.#timer);
    this.caller?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.#stop.abort(this.caller?.reason);
}
