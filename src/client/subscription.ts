import type { ConnectionPlan } from "./connection.ts";
import { connections } from "./connections.ts";

export interface SubscribeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Events are being received; the first time, and again after every break, during which some may have been missed. */
  readonly onConnect?: (again: boolean) => void;
  /** The connection broke; it is made again in so many milliseconds. */
  readonly onBreak?: (waitMs: number, why: Error) => void;
  /** So many events were dropped because the loop reads too slowly: by the server, or here because `buffer` was full. */
  readonly onMissed?: (events: number, by: "server" | "client") => void;
  /** False: a break ends the subscription with an error. */
  readonly reconnect?: boolean;
  /** How many events wait for the loop; 10,000 unless said otherwise. */
  readonly buffer?: number;
  /** After so long a silence the server is asked whether it is there; 30,000 unless said otherwise, 0 never. */
  readonly heartbeatMs?: number;
}

/** What comes over a connection that is made with the first turn of the loop, and closed when the loop is left. */
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

  /** Leaves at once, also while `next` waits for an event. */
  async return(): Promise<IteratorResult<E, void>> {
    // A generator that waits does not hear of its `return` until it has waited.
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

/** The events one by one; everything else goes to whoever asked for it among the options. */
export async function* eventsOf(
  plan: ConnectionPlan,
  { reconnect = true, onConnect, onBreak, onMissed }: SubscribeOptions,
  stop: AbortSignal,
): AsyncGenerator<unknown, void> {
  for await (const step of connections(plan, { reconnect, welcome: async () => {} }, stop)) {
    if (step.kind === "events") yield* step.events;
    else if (step.kind === "connected") onConnect?.(step.again);
    else if (step.kind === "broken") onBreak?.(step.waitMs, step.why);
    else onMissed?.(step.count, step.by);
  }
}
