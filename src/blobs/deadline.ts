import { orAborted } from "../base/clock.ts";
import { storeUnavailable } from "./blob-store.ts";

/** Deadline aborts its signal when the store has not made progress for a while, or when the signal of the caller is aborted. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  #timeoutMs: number;
  readonly #caller: AbortSignal;
  readonly #onAbort = () => this.#controller.abort(this.#caller.reason);
  #timer: Timer | undefined;

  constructor(timeoutMs: number, caller: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    if (caller.aborted) this.#onAbort();
    caller.addEventListener("abort", this.#onAbort, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** To be called when the store made progress, or when it is its turn again. From now on it has `timeoutMs`, if that is given. */
  restart(timeoutMs = this.#timeoutMs): void {
    this.#timeoutMs = timeoutMs;
    this.pause();
    this.#timer = setTimeout(() => this.#controller.abort(tooLate(timeoutMs)), timeoutMs);
  }

  /** To be called while it is not the store that is waited for. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Resolves as `work` does, or fails as soon as the signal is aborted. Work that cannot be aborted goes on unobserved. */
  race<T>(work: Promise<T>): Promise<T> {
    return orAborted(work, this.signal);
  }

  [Symbol.dispose](): void {
    this.pause();
    this.#caller.removeEventListener("abort", this.#onAbort);
  }
}

function tooLate(timeoutMs: number): Error {
  return storeUnavailable(`the object store did not answer within ${timeoutMs} ms; try again later`);
}
