import { Fault } from "../base/fault.ts";
import { randomText } from "../base/random.ts";

/** How many subscriptions one connection may hold. */
export const maxSubscriptions = 1024;

interface Subscription {
  readonly method: string;
  readonly stop: AbortController;
}

/** The subscriptions of one connection. They end when it does. */
export class Session {
  readonly #subscriptions = new Map<string, Subscription>();
  #closed = false;

  /** `send` resolves when the connection can take more; it never rejects. */
  constructor(private readonly send: (text: string) => void | Promise<void>) {}

  /** Registers a subscription whose events start with `pump`, after its id has been sent. */
  subscribe(method: string): { readonly id: string; readonly stop: AbortSignal } {
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw new Fault("TooManySubscriptions", `this connection holds ${maxSubscriptions} already`, {
        limit: maxSubscriptions,
      });
    }
    if (this.#closed) throw new Fault("Other", "the connection has closed");
    const id = randomText(24);
    const stop = new AbortController();
    this.#subscriptions.set(id, { method, stop });
    return { id, stop: stop.signal };
  }

  /** Sends each event until the stream or the subscription ends. */
  async pump(id: string, events: AsyncIterable<unknown>): Promise<void> {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    const { method, stop } = subscription;
    try {
      for await (const result of events) {
        if (stop.signal.aborted) break;
        await this.send(eventText(method, id, result));
      }
    } finally {
      this.cancel(id);
    }
  }

  /** Ends a subscription from this side; `last` is the event that tells why. */
  end(id: string, last: unknown): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    this.cancel(id);
    // Nobody waits for a reader that may be slow.
    if (last !== undefined) void this.send(eventText(subscription.method, id, last));
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

/** Caches the JSON of an event that many subscribers receive. */
const jsonOfEvents = new WeakMap<object, string>();

function eventText(method: string, subscription: string, event: unknown): string {
  return `{"jsonrpc":"2.0","method":"${method}","params":{"subscription":"${subscription}","result":${jsonOf(event)}}}`;
}

function jsonOf(event: unknown): string {
  if (typeof event !== "object" || event === null) return JSON.stringify(event) ?? "null";
  let text = jsonOfEvents.get(event);
  if (text === undefined) {
    text = JSON.stringify(event);
    jsonOfEvents.set(event, text);
  }
  return text;
}
