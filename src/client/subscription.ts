import { Connection, type ConnectionPlan } from "./connection.ts";
import { Busy, Unreachable } from "./errors.ts";

export interface SubscribeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Events are being received; the first time, and again after every break, during which some may have been missed. */
  readonly onConnect?: (again: boolean) => void;
  /** The connection broke; it is made again in so many milliseconds. */
  readonly onBreak?: (waitMs: number, why: Error) => void;
  /** So many events were dropped because the loop reads too slowly. */
  readonly onMissed?: (events: number) => void;
  /** False: a break ends the subscription with an error. */
  readonly reconnect?: boolean;
  /** How many events wait for the loop; 10,000 unless said otherwise. */
  readonly buffer?: number;
  /** After so long a silence the server is asked whether it is there; 30,000 unless said otherwise, 0 never. */
  readonly heartbeatMs?: number;
}

const firstWaitMs = 250;
const longestWaitMs = 10_000;

/** The events of a subscription. The connection is made with the first turn of the loop, and closed when the loop is left. */
export class Subscription<E> implements AsyncIterableIterator<E> {
  readonly #stop = new AbortController();
  readonly #events: AsyncGenerator<unknown, void>;

  /** @internal */
  constructor(plan: ConnectionPlan, options: SubscribeOptions) {
    this.#events = events(plan, options, this.#stop);
  }

  async next(): Promise<IteratorResult<E, void>> {
    return (await this.#events.next()) as IteratorResult<E, void>;
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

async function* events(
  plan: ConnectionPlan,
  options: SubscribeOptions,
  stop: AbortController,
): AsyncGenerator<unknown, void> {
  const { signal } = options;
  const follow = () => stop.abort();
  signal?.addEventListener("abort", follow);
  try {
    if (!signal?.aborted) yield* connections(plan, options, stop.signal);
  } finally {
    signal?.removeEventListener("abort", follow);
  }
}

/** One connection after another. The first must come about, and a refusal is an answer. */
async function* connections(
  plan: ConnectionPlan,
  { reconnect = true, onConnect, onBreak }: SubscribeOptions,
  stop: AbortSignal,
): AsyncGenerator<unknown, void> {
  let waitMs = firstWaitMs;
  for (let again = false; !stop.aborted; again = true) {
    const connection = new Connection(plan);
    const close = () => connection.close();
    stop.addEventListener("abort", close);
    let why: unknown;
    try {
      await connection.opened();
      waitMs = firstWaitMs;
      onConnect?.(again);
      yield* connection.received();
      why = connection.ended;
    } catch (error) {
      if (stop.aborted) return;
      if (!again || !(error instanceof Unreachable || error instanceof Busy)) throw error;
      why = error;
    } finally {
      stop.removeEventListener("abort", close);
      connection.close();
    }
    if (stop.aborted) return;
    if (!reconnect && !connection.dismissed) throw why;
    // A restart breaks all its clients at once; they shall not all come back at once.
    const thisWaitMs = Math.round(waitMs * (0.5 + Math.random() / 2));
    if (!connection.dismissed) onBreak?.(thisWaitMs, why as Error);
    await pause(thisWaitMs, stop);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    stop.addEventListener("abort", over);
  });
}
