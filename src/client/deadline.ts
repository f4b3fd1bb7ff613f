import { TimedOut } from "./errors.ts";

/** Deadline ends a request early: by the caller's signal or by a timeout. */
export class Deadline {
  readonly #caller: AbortSignal | undefined;
  readonly #stop = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #late: TimedOut | undefined;

  constructor(caller: AbortSignal | undefined, timeoutMs: number | undefined, url: string) {
    this.#caller = caller;
    if (caller?.aborted) this.#stop.abort(caller.reason);
    caller?.addEventListener("abort", this.#follow);
    if (timeoutMs === undefined || timeoutMs <= 0) return;
    this.#timer = setTimeout(() => {
      this.#late = new TimedOut(`${url} did not answer within ${timeoutMs} ms`);
      this.#stop.abort(this.#late);
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Throws the reason, if the signal or the timeout ended the request. */
  throwIfEnded(): void {
    if (this.#caller?.aborted) throw this.#caller.reason;
    if (this.#late !== undefined) throw this.#late;
  }

  /** Call when the request is over, so that neither timer nor listener outlives it. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.#stop.abort(this.#caller?.reason);
}
