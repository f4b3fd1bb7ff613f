import { toRpcError, Unreachable, type WireError } from "./errors.ts";

export interface SubscribeOptions {
  readonly signal?: AbortSignal;
  /** Events are being received; the first time, and again after every break, during which some may have been missed. */
  readonly onConnect?: (again: boolean) => void;
  /** The connection broke; it is made again in so many milliseconds. */
  readonly onBreak?: (waitMs: number) => void;
  /** False: a break ends the subscription with an error. */
  readonly reconnect?: boolean;
}

interface Wire {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: WireError;
  readonly params?: { readonly subscription: string; readonly result: unknown };
}

const firstWaitMs = 250;
const longestWaitMs = 10_000;

/** The events of one subscription, on a WebSocket of its own, which is made again when it breaks. */
export async function* events(
  url: string,
  method: string,
  params: object,
  WebSocketClass: typeof WebSocket,
  options: SubscribeOptions,
): AsyncGenerator<unknown, void> {
  const { signal, reconnect = true, onConnect, onBreak } = options;
  let waitMs = firstWaitMs;
  for (let again = false; !signal?.aborted; again = true) {
    const connection = new Connection(url, method, params, WebSocketClass, signal);
    try {
      await connection.opened;
      waitMs = firstWaitMs;
      onConnect?.(again);
      yield* connection.received();
      if (!signal?.aborted && !reconnect) throw new Unreachable(`the connection to ${url} broke`);
    } catch (error) {
      if (signal?.aborted) return;
      // The first connection must come about, and a refusal is an answer.
      if (!again || !reconnect || !(error instanceof Unreachable)) throw error;
    } finally {
      connection.close();
    }
    if (signal?.aborted) return;
    onBreak?.(waitMs);
    await pause(waitMs, signal);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

class Connection {
  readonly opened: Promise<void>;
  readonly #socket: WebSocket;
  readonly #waiting: unknown[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(
    url: string,
    method: string,
    params: object,
    WebSocketClass: typeof WebSocket,
    signal?: AbortSignal,
  ) {
    const socket = new WebSocketClass(url.replace(/^http/, "ws"));
    this.#socket = socket;
    this.opened = new Promise((resolve, reject) => {
      socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }));
      socket.onerror = () => reject(new Unreachable(`${url} cannot be reached by WebSocket`));
      socket.onclose = () => {
        reject(new Unreachable(`${url} closed the connection`));
        this.#end();
      };
      socket.onmessage = ({ data }: { data: unknown }) => {
        const message = JSON.parse(String(data)) as Wire;
        if (message.params !== undefined) this.#take(message.params.result);
        else if (message.error !== undefined) reject(toRpcError(message.error));
        else resolve();
      };
    });
    // Whoever waits for it hears of it; nobody else has to.
    this.opened.catch(() => {});
    signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  async *received(): AsyncGenerator<unknown, void> {
    for (;;) {
      while (this.#waiting.length > 0) yield this.#waiting.shift();
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#socket.close();
    this.#end();
  }

  #take(event: unknown): void {
    this.#waiting.push(event);
    this.#wake?.();
  }

  #end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
