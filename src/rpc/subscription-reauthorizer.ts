import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import type { Clock } from "../base/clock.ts";
import { quietly } from "../log/span.ts";
import type { Admission, EndReason, Session } from "./session.ts";

/**
 * Another node, or an operator's SQL, may have revoked a token, so the database is asked so often: by one query, whatever the
 * number of subscriptions.
 */
const recheckMs = 400;
/**
 * An event is sent only if a query that began less than this before has confirmed the token: then it was valid at most a second
 * ago, however slow the database is.
 */
const leaseMs = 1000;

/** WatchedSubscription is a subscription with the caller and the need that it was authorised for. */
export interface WatchedSubscription {
  readonly id: string;
  readonly session: Session;
  readonly caller: Caller;
  readonly need: Need;
  readonly lastEvent: ((reason: EndReason) => unknown) | undefined;
}

/** Watched is a subscription with the time at which the query began that last confirmed its token, by a clock that nobody sets. */
interface Watched {
  readonly subscription: WatchedSubscription;
  confirmedAt: number;
}

type AreAuthorised = (watched: readonly WatchedSubscription[]) => Promise<readonly boolean[]>;

/** SubscriptionReauthorizer ends subscriptions whose token would not be authorised any more. */
export class SubscriptionReauthorizer {
  readonly #watched = new Map<string, Watched>();
  /** True if the last query failed: what cannot be asked ends nothing and holds nothing up. */
  #isAway = false;
  readonly #areAuthorised: AreAuthorised;
  readonly #onError: (error: unknown) => void;
  readonly #clock: Clock;
  #timer: Disposable | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(areAuthorised: AreAuthorised, onError: (error: unknown) => void, clock: Clock) {
    this.#areAuthorised = areAuthorised;
    this.#onError = onError;
    this.#clock = clock;
  }

  /** Watches a subscription until `stop`. What it returns has to be asked before every event. */
  watch(subscription: WatchedSubscription, stop: AbortSignal): Admission {
    const watched: Watched = { subscription, confirmedAt: Number.NEGATIVE_INFINITY };
    this.#watched.set(subscription.id, watched);
    this.#timer ??= this.#recheckIn(recheckMs);
    stop.addEventListener("abort", () => {
      this.#watched.delete(subscription.id);
      if (this.#watched.size > 0) return;
      this.#timer?.[Symbol.dispose]();
      this.#timer = undefined;
    });
    const isConfirmed = () => this.#isAway || this.#clock.monotonic() - watched.confirmedAt < leaseMs;
    return {
      get isConfirmed() {
        return isConfirmed();
      },
      confirm: () => this.recheck(),
    };
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

  #recheckIn(pauseMs: number): Disposable {
    return this.#clock.after(pauseMs, async () => {
      this.#timer = undefined;
      const startedAt = this.#clock.monotonic();
      await this.recheck();
      if (this.#watched.size > 0)
        this.#timer ??= this.#recheckIn(Math.max(0, recheckMs - (this.#clock.monotonic() - startedAt)));
    });
  }

  /** Without log entries: a subscriber to the log must not be sent its own upkeep. */
  async #check(): Promise<void> {
    const watched = [...this.#watched.values()];
    if (watched.length === 0) return;
    const begunAt = this.#clock.monotonic();
    try {
      const subscriptions = watched.map(({ subscription }) => subscription);
      const authorised = await quietly(() => this.#areAuthorised(subscriptions));
      this.#isAway = false;
      for (const [at, one] of watched.entries()) {
        const { id, session, lastEvent } = one.subscription;
        if (authorised[at] === false) session.end(id, "token_invalid", lastEvent?.("token_invalid"));
        else one.confirmedAt = begunAt;
      }
    } catch (error) {
      this.#isAway = true;
      // A database that cannot be asked just now ends nothing.
      this.#onError(error);
    }
  }
}
