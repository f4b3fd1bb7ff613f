import type { ConnectionPlan } from "./connection.ts";
import { connections } from "./connections.ts";

export interface SubscribeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called when the subscription has begun, and `again` after every break, during which events may have been missed. */
  readonly onConnect?: (again: boolean) => void;
  /** Called when the connection broke; it is made again in `waitMs`. */
  readonly onBreak?: (waitMs: number, why: Error) => void;
  /**
   * Called with the number of events that were dropped because the loop reads too slowly: by the server, or here because `buffer`
   * was full.
   */
  readonly onMissed?: (events: number, by: "server" | "client") => void;
  /** False: a break ends the subscription with an error. Default: true. */
  readonly reconnect?: boolean;
  /** How many events wait for the loop before newer ones are dropped. Default: 10,000. */
  readonly buffer?: number;
  /** After this silence the client checks that the server answers. Default: 30,000; 0 turns it off. */
  readonly heartbeatMs?: number;
}

/** Subscription iterates over events. It connects when the loop begins and disconnects when the loop is left. */
export class Subscription<E> implements AsyncIterableIterator<E> {
  readonly #stop = new AbortController();
  readonly #events: AsyncGenerator<E, void>;

  /** @internal */
  constructor(begin: (stop: AbortSignal) => AsyncGenerator<E, void>, signal: AbortSignal | undefined) {
    this.#events = until(begin, signal, this.#stop);
  }

  next(): Promise<IteratorResult<E, void>> {
    return this.#events.next();
  }

  /** Ends the subscription at once, also while `next` waits for an event. */
  async return(): Promise<IteratorResult<E, void>> {
    // A generator handles `return` only after the promise it waits for.
    this.#stop.abort();
    await this.#events.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

async function* until<E>(
  begin: (stop: AbortSignal) => AsyncGenerator<E, void>,
  signal: AbortSignal | undefined,
  stop: AbortController,
): AsyncGenerator<E, void> {
  const follow = () => stop.abort();
  signal?.addEventListener("abort", follow);
  try {
    if (!signal?.aborted) yield* begin(stop.signal);
  } finally {
    signal?.removeEventListener("abort", follow);
  }
}

/** Yields the events one by one and reports everything else to the callbacks. */
export async function* eventsOf(
  plan: ConnectionPlan,
  { reconnect = true, onConnect, onBreak, onMissed }: SubscribeOptions,
  stop: AbortSignal,
): AsyncGenerator<unknown, void> {
  for await (const step of connections(plan, { reconnect, onConnected: async () => {} }, stop)) {
    if (step.kind === "events") yield* step.events;
    else if (step.kind === "connected") onConnect?.(step.again);
    else if (step.kind === "broken") onBreak?.(step.waitMs, step.why);
    else onMissed?.(step.count, step.by);
  }
}
