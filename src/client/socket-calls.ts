import { Disconnected, TimedOut, toRpcError, Unreachable } from "./errors.ts";
import { type Integers, parseExactly, stringifyExactly } from "./exact-json.ts";
import type { SocketClass, SocketLike } from "./socket.ts";
import { isAnswer, type WireCall } from "./wire.ts";

interface SocketCallsOptions {
  readonly url: string;
  readonly Socket: SocketClass;
  readonly connectTimeoutMs: number;
  readonly integers: Integers;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** SocketCalls makes calls over one WebSocket: for what lives as long as its connection, such as a cursor. */
export class SocketCalls implements Disposable {
  readonly #options: SocketCallsOptions;
  readonly #socket: SocketLike;
  readonly #opened = Promise.withResolvers<void>();
  readonly #waiting = new Map<unknown, Waiting>();
  readonly #timer: ReturnType<typeof setTimeout>;
  #ended: Error | undefined;

  constructor(options: SocketCallsOptions) {
    const { url, Socket, connectTimeoutMs } = options;
    this.#options = options;
    const socket = new Socket(url.replace(/^http/, "ws"));
    this.#socket = socket;
    let isOpen = false;
    // It is awaited by each call, or by none.
    this.#opened.promise.catch(() => {});
    this.#timer = setTimeout(
      () => this.#end(new TimedOut(`${url} did not answer by WebSocket within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    socket.onopen = () => {
      isOpen = true;
      clearTimeout(this.#timer);
      this.#opened.resolve();
    };
    socket.onclose = ({ code }: { code: number }) =>
      this.#end(
        isOpen
          ? new Disconnected(`the connection to ${url} broke (${code})`, code)
          : new Unreachable(`${url} cannot be reached by WebSocket (${code})`),
      );
    socket.onerror = () => {
      // Node's WebSocket reports a failed handshake by `error` alone.
      if (!isOpen) this.#end(new Unreachable(`${url} cannot be reached by WebSocket`));
    };
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(String(data));
  }

  /** Makes a call and returns its result. Throws the error of the call, or why the connection ended. */
  async call(call: WireCall): Promise<unknown> {
    await this.#opened.promise;
    if (this.#ended !== undefined) throw this.#ended;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.id, { resolve, reject });
      this.#socket.send(stringifyExactly(call));
    });
  }

  [Symbol.dispose](): void {
    this.#end(new Disconnected("closed by this side", 1000));
  }

  /** Notifications are about what ends; the next call says the same. */
  #received(text: string): void {
    const message = this.#options.integers === "bigint" ? parseExactly(text) : JSON.parse(text);
    if (!isAnswer(message)) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(toRpcError(message.error));
  }

  #end(why: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    clearTimeout(this.#timer);
    this.#opened.reject(why);
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
    socket.close();
  }
}
