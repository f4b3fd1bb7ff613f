import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import { quietly } from "../log/span.ts";
import type { EndReason, Session } from "./session.ts";

/** Another server, or an operator's SQL, may have revoked the token, so the database is asked again and again. */
const recheckIntervalMs = 1000;

/** WatchedSubscription is a subscription with the caller and the need that it was authorised for. */
export interface WatchedSubscription {
  readonly id: string;
  readonly session: Session;
  readonly caller: Caller;
  readonly need: Need;
  readonly lastEvent: ((reason: EndReason) => unknown) | undefined;
}

/** SubscriptionReauthorizer ends subscriptions whose token would not be authorised any more. */
export class SubscriptionReauthorizer {
  readonly #watched = new Map<string, WatchedSubscription>();
  #timer: Timer | undefined;

  readonly #isAuthorised: (caller: Caller, need: Need) => Promise<boolean>;
  readonly #onError: (error: unknown) => void;

  constructor(
    isAuthorised: (caller: Caller, need: Need) => Promise<boolean>,
    onError: (error: unknown) => void,
  ) {
    this.#isAuthorised = isAuthorised;
    this.#onError = onError;
  }

  watch(watched: WatchedSubscription, stop: AbortSignal): void {
    this.#watched.set(watched.id, watched);
    this.#timer ??= setInterval(() => void this.recheck(), recheckIntervalMs);
    stop.addEventListener("abort", () => {
      this.#watched.delete(watched.id);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  }

  /** Asks for all of them now, without log entries: a subscriber to the log must not be sent its own upkeep. */
  async recheck(): Promise<void> {
    for (const watched of [...this.#watched.values()]) {
      try {
        await quietly(() => this.#recheckOne(watched));
      } catch (error) {
        // A database that cannot be asked just now ends nothing.
        this.#onError(error);
      }
    }
  }

  async #recheckOne({ id, session, caller, need, lastEvent }: WatchedSubscription): Promise<void> {
    if (await this.#isAuthorised(caller, need)) return;
    session.end(id, "token_invalid", lastEvent?.("token_invalid"));
  }
}
