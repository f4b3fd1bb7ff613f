import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import { quietly } from "../log/span.ts";
import type { EndReason, Session } from "./session.ts";

/** Another node, or an operator's SQL, may have revoked a token, so the database is asked so often: by one query, whatever the number of subscriptions. */
const recheckMs = 400;

/** WatchedSubscription is a subscription with the caller and the need that it was authorised for. */
export interface WatchedSubscription {
  readonly id: string;
  readonly session: Session;
  readonly caller: Caller;
  readonly need: Need;
  readonly lastEvent: ((reason: EndReason) => unknown) | undefined;
}

type AreAuthorised = (watched: readonly WatchedSubscription[]) => Promise<readonly boolean[]>;

/** SubscriptionReauthorizer ends subscriptions whose token would not be authorised any more. */
export class SubscriptionReauthorizer {
  readonly #watched = new Map<string, WatchedSubscription>();
  readonly #areAuthorised: AreAuthorised;
  readonly #onError: (error: unknown) => void;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(areAuthorised: AreAuthorised, onError: (error: unknown) => void) {
    this.#areAuthorised = areAuthorised;
    this.#onError = onError;
  }

  watch(watched: WatchedSubscription, stop: AbortSignal): void {
    this.#watched.set(watched.id, watched);
    this.#timer ??= this.#recheckIn(recheckMs);
    stop.addEventListener("abort", () => {
      this.#watched.delete(watched.id);
      if (this.#watched.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    });
  }

  /** Asks for all of them, by a query that begins after this call. One runs at a time; those who call meanwhile share the next. */
  recheck(): Promise<void> {
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#running = this.#check();
      return this.#running;
    });
    return this.#next;
  }

  #recheckIn(pauseMs: number): Timer {
    return setTimeout(async () => {
      this.#timer = undefined;
      const startedAt = performance.now();
      await this.recheck();
      if (this.#watched.size > 0)
        this.#timer ??= this.#recheckIn(Math.max(0, recheckMs - (performance.now() - startedAt)));
    }, pauseMs);
  }

  /** Without log entries: a subscriber to the log must not be sent its own upkeep. */
  async #check(): Promise<void> {
    const watched = [...this.#watched.values()];
    if (watched.length === 0) return;
    try {
      const authorised = await quietly(() => this.#areAuthorised(watched));
      for (const [at, { id, session, lastEvent }] of watched.entries())
        if (authorised[at] === false) session.end(id, "token_invalid", lastEvent?.("token_invalid"));
    } catch (error) {
      // A database that cannot be asked just now ends nothing.
      this.#onError(error);
    }
  }
}
