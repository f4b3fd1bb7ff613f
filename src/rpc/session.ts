import type { Caller } from "../auth/caller.ts";
import type { Need } from "../auth/need.ts";
import type { Clock } from "../base/clock.ts";
import { SharedRuns } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import { DropNotice, type EventQueue, isEventQueue } from "../base/mailbox.ts";
import { randomText } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import { askedFreshness, type Freshness } from "../db/freshness.ts";
import { quietly } from "../log/span.ts";

/** Subscriptions that one connection may hold. */
const maxSubscriptions = 1024;

/** Why the server ends a subscription, each with its meaning for people. */
export const endReasons = {
  token_invalid: "its token was revoked or has expired",
  shutdown: "the server stops, or no longer listens at this address",
  restart: "the server restarts",
  completed: "there are no more events",
  failed: "the server failed to continue it",
} as const;
export type EndReason = keyof typeof endReasons;

interface Subscription {
  readonly method: string;
  readonly stop: AbortController;
}

/**
 * SendEvents sends the texts that `next` returns, all at once, until it returns undefined or the connection can take no more. It
 * resolves when the connection can take more, and never rejects.
 */
type SendEvents = (next: () => string | undefined) => void | Promise<void>;

/** Admission is whether events may be sent to a subscriber: its token may have been revoked on another node. */
interface Admission {
  readonly isConfirmed: boolean;
  /** Resolves once it is confirmed, the subscription was ended, or it cannot be found out. */
  confirm(): Promise<void>;
}

interface PumpOptions {
  readonly stop: AbortSignal;
  readonly admission: Admission;
  readonly toText: (event: unknown) => string;
}

const always: Admission = { isConfirmed: true, async confirm() {} };

/** The subscriptions of one connection. They end when it does. */
export class Session {
  readonly #send: SendEvents;
  readonly #subscriptions = new Map<string, Subscription>();
  #closed = false;

  constructor(send: SendEvents) {
    this.#send = send;
  }

  /** Registers a subscription whose events start with `pump`, after its id has been sent. */
  subscribe(method: string): { readonly id: string; readonly stop: AbortSignal } {
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw new Fault("TooManySubscriptions", `this connection already has ${maxSubscriptions}`, {
        limit: maxSubscriptions,
      });
    }
    if (this.#closed) throw new Fault("Other", "the connection has closed");
    const id = randomText(24);
    const stop = new AbortController();
    this.#subscriptions.set(id, { method, stop });
    return { id, stop: stop.signal };
  }

  /** Sends each event until the stream or the subscription ends. A stream that ends by itself is reported as such. */
  async pump(id: string, events: AsyncIterable<unknown>, admission: Admission = always): Promise<void> {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    const { method, stop } = subscription;
    let reason: EndReason = "failed";
    try {
      const toText = (event: unknown) => eventText(method, id, event);
      if (isEventQueue(events)) await this.#pumpQueue(events, { stop: stop.signal, admission, toText });
      else
        for await (const event of events) {
          if (!admission.isConfirmed) await admission.confirm();
          if (stop.signal.aborted) break;
          await this.#sendOne(toText(event));
        }
      reason = "completed";
    } finally {
      this.end(id, reason);
    }
  }

  /** Sends the events that have come meanwhile in one write. */
  async #pumpQueue(events: EventQueue<unknown>, { stop, admission, toText }: PumpOptions): Promise<void> {
    const next = () => {
      const event = stop.aborted || !admission.isConfirmed ? undefined : events.take();
      return event === undefined ? undefined : toText(event);
    };
    while (!stop.aborted && !events.isClosed) {
      await events.arrival();
      if (!admission.isConfirmed) await admission.confirm();
      await this.#send(next);
    }
  }

  #sendOne(text: string): void | Promise<void> {
    let left: string | undefined = text;
    return this.#send(() => {
      const next = left;
      left = undefined;
      return next;
    });
  }

  /** Ends a subscription from this side; `last` is an event that says why to people. Does nothing when it has ended already. */
  end(id: string, reason: EndReason, last?: unknown): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    this.cancel(id);
    // Not awaited: the reader may be slow.
    if (last !== undefined)
      void this.#sendOne(notification(subscription.method, id, `"result":${jsonOf(last)}`));
    void this.#sendOne(notification(subscription.method, id, `"end":{"reason":"${reason}"}`));
  }

  /** Ends every subscription from this side. */
  endAll(reason: EndReason): void {
    for (const id of [...this.#subscriptions.keys()]) this.end(id, reason);
  }

  has(id: string): boolean {
    return this.#subscriptions.has(id);
  }

  cancel(id: string): boolean {
    const subscription = this.#subscriptions.get(id);
    this.#subscriptions.delete(id);
    subscription?.stop.abort();
    return subscription !== undefined;
  }

  close(): void {
    this.#closed = true;
    for (const id of [...this.#subscriptions.keys()]) this.cancel(id);
  }
}

function notification(method: string, subscription: string, member: string): string {
  return `{"jsonrpc":"2.0","method":"${method}","params":{"subscription":"${subscription}",${member}}}`;
}

function eventText(method: string, id: string, event: unknown): string {
  return notification(
    method,
    id,
    event instanceof DropNotice ? `"dropped":${event.count}` : `"result":${jsonOf(event)}`,
  );
}

/** The JSON of an event that many subscribers receive is made once. */
const eventJson = new WeakMap<object, string>();

function jsonOf(event: unknown): string {
  if (typeof event !== "object" || event === null) return JSON.stringify(event) ?? "null";
  let text = eventJson.get(event);
  if (text === undefined) {
    text = JSON.stringify(event);
    eventJson.set(event, text);
  }
  return text;
}

/**
 * Another node, or an operator's SQL, may have revoked a token, so the database is asked at this interval: by one query, whatever the
 * number of subscriptions.
 */
const recheckMs = 400;
/** WatchedSubscription is a subscription with the caller and the need that it was authorised for. */
export interface WatchedSubscription {
  readonly id: string;
  readonly session: Session;
  readonly caller: Caller;
  readonly need: Need;
  readonly lastEvent: ((reason: EndReason) => unknown) | undefined;
}

/** WatchEntry is a subscription, and when the query began that last confirmed its token. */
interface WatchEntry {
  readonly subscription: WatchedSubscription;
  confirmedAt: number;
}

type AreAuthorised = (watched: readonly WatchedSubscription[]) => Promise<readonly boolean[]>;

/** SubscriptionReauthorizer ends subscriptions whose token would not be authorised any more. */
export class SubscriptionReauthorizer {
  readonly #watched = new Map<string, WatchEntry>();
  /**
   * An event is sent only while the answer that confirmed its token is current. A database that cannot be asked ends nothing and holds
   * nothing up.
   */
  readonly #freshness: Freshness;
  readonly #areAuthorised: AreAuthorised;
  readonly #onError: (error: unknown) => void;
  readonly #rechecks: Task;
  readonly #checks = new SharedRuns();

  constructor(areAuthorised: AreAuthorised, onError: (error: unknown) => void, clock: Clock) {
    this.#areAuthorised = areAuthorised;
    this.#onError = onError;
    this.#freshness = askedFreshness(clock);
    this.#rechecks = new Task({
      clock,
      run: async () => {
        const startedAt = clock.monotonic();
        await this.recheck();
        return this.#watched.size === 0 ? undefined : recheckMs - (clock.monotonic() - startedAt);
      },
    });
  }

  /** Watches a subscription until `stop`. What it returns has to be asked before every event. */
  watch(subscription: WatchedSubscription, stop: AbortSignal): Admission {
    const watched: WatchEntry = { subscription, confirmedAt: Number.NEGATIVE_INFINITY };
    this.#watched.set(subscription.id, watched);
    this.#rechecks.dueIn(recheckMs);
    stop.addEventListener("abort", () => this.#watched.delete(subscription.id));
    const isConfirmed = () => this.#freshness.isAway || this.#freshness.isYoung(watched.confirmedAt);
    return {
      get isConfirmed() {
        return isConfirmed();
      },
      confirm: () => this.recheck(),
    };
  }

  /** Asks for all of them, by a query that begins after this call. One runs at a time; those who call meanwhile share the next. */
  recheck(): Promise<void> {
    return this.#checks.next("", () => this.#check());
  }

  /** Without log entries: a subscriber to the log must not be sent its own upkeep. */
  async #check(): Promise<void> {
    const watched = [...this.#watched.values()];
    if (watched.length === 0) return;
    const begunAt = this.#freshness.now;
    try {
      const subscriptions = watched.map(({ subscription }) => subscription);
      const authorised = await quietly(() => this.#areAuthorised(subscriptions));
      this.#freshness.asked({ isAnswered: true });
      for (const [at, one] of watched.entries()) {
        const { id, session, lastEvent } = one.subscription;
        if (authorised[at] === false) session.end(id, "token_invalid", lastEvent?.("token_invalid"));
        else one.confirmedAt = begunAt;
      }
    } catch (error) {
      this.#freshness.asked({ isAnswered: false });
      this.#onError(error);
    }
  }
}
