import { networkOf } from "../base/address.ts";
import type { EventFields } from "../log/events.ts";
import { outsideSpans } from "../log/span.ts";

/** In this time there is one entry for an address, and one that counts the failures after it. */
const windowMs = 10_000;
/** Further addresses in the same time share one entry, so that many attackers cannot fill the log either. */
const maxWindows = 20;

export type SignInFailure = Omit<EventFields<"sign_in.failed">, "count" | "other_addresses">;

/** SignInCount says how many failures an entry stands for, and whether they are of several addresses. */
export interface SignInCount {
  readonly count: number;
  readonly ofOthers: boolean;
}

interface Window {
  /** Failures since the last entry. */
  count: number;
  last: SignInFailure;
  timer: Timer;
}

/** FailedSignIns bounds the entries about failed sign-ins: the first of an address is written at once, then one for each window. */
export class FailedSignIns implements Disposable {
  /** By network; those beyond `maxWindows` are under `others`. */
  readonly #windows = new Map<string, Window>();
  readonly #write: (failure: SignInFailure, counted: SignInCount) => void;

  constructor(write: (failure: SignInFailure, counted: SignInCount) => void) {
    this.#write = write;
  }

  add(failure: SignInFailure): void {
    const network = networkOf(failure.address);
    const key = this.#windows.has(network) || this.#windows.size < maxWindows ? network : others;
    const window = this.#windows.get(key);
    if (window !== undefined) {
      window.count += 1;
      window.last = failure;
      return;
    }
    this.#write(failure, { count: 1, ofOthers: key === others });
    this.#open(key, failure);
  }

  [Symbol.dispose](): void {
    for (const [key, { timer }] of this.#windows) {
      clearTimeout(timer);
      this.#flush(key);
    }
  }

  #open(key: string, last: SignInFailure): void {
    // The entry at the end of the window is not about the call that began it.
    const timer = outsideSpans(() => setTimeout(() => this.#end(key), windowMs).unref());
    this.#windows.set(key, { count: 0, last, timer });
  }

  #end(key: string): void {
    const last = this.#flush(key);
    if (last !== undefined) this.#open(key, last);
  }

  /** Returns the last failure if there was something to write. */
  #flush(key: string): SignInFailure | undefined {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    if (window === undefined || window.count === 0) return undefined;
    this.#write(window.last, { count: window.count, ofOthers: key === others });
    return window.last;
  }
}

/** No network is called so. */
const others = "*";
