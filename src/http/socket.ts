import type { ServerWebSocket } from "bun";
import { Fault } from "../base/fault.ts";
import type { Engine, Origin, Reply } from "../rpc/engine.ts";
import { toWireError } from "../rpc/errors.ts";
import { Session } from "../rpc/session.ts";

/** So many calls of one socket run at once; the next is told to wait. */
const maxRunning = 1000;
/** Bun pings a socket that is silent, and drops it when this many seconds pass without a pong. */
export const socketIdleSeconds = 60;

const closeCodes = { goingAway: 1001, restart: 1012, tryAgainLater: 1013 };

/** Why the server leaves its clients. */
export type Goodbye = "stop" | "restart";

/** One WebSocket on the JSON-RPC route: its session, and its pace. */
export class Connection {
  readonly #session: Session;
  readonly #origin: Origin;
  #socket: ServerWebSocket<Connection> | undefined;
  #running = 0;
  #drained: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(
    private readonly engine: Pick<Engine<object>, "answer">,
    private readonly address: string,
    /** Called once, when the socket is gone. */
    private readonly gone: () => void,
  ) {
    this.#session = new Session((text) => this.#sendEvent(text));
    this.#origin = { address: () => this.address, aside: (wait) => wait(), session: this.#session };
  }

  opened(socket: ServerWebSocket<Connection>): void {
    this.#socket = socket;
  }

  received(message: string | Buffer): void | Promise<void> {
    const text = typeof message === "string" ? message : message.toString("utf8");
    if (this.#running >= maxRunning) {
      const fault = new Fault(
        "Busy",
        `${maxRunning} calls of this socket are running; wait for answers first`,
      );
      this.#send(JSON.stringify({ jsonrpc: "2.0", error: toWireError(fault), id: null }));
      return;
    }
    const answer = this.engine.answer(text, this.#origin);
    if (answer instanceof Promise) return this.#finish(answer);
    this.#reply(answer);
  }

  async #finish(answer: Promise<Reply>): Promise<void> {
    this.#running += 1;
    try {
      const reply = await answer;
      if (reply.delayMs > 0) await Bun.sleep(reply.delayMs);
      this.#reply(reply);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#idle?.resolve();
    }
  }

  #reply({ text, sent }: Reply): void {
    if (text !== undefined) this.#send(text);
    sent?.();
  }

  drained(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  closed(): void {
    this.#socket = undefined;
    this.#session.close();
    this.drained();
    this.gone();
  }

  /** Finishes what runs, then says goodbye. */
  async leave(why: Goodbye): Promise<void> {
    if (this.#running > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    if (why === "restart")
      this.#socket?.close(closeCodes.restart, "the server restarts; come back in a moment");
    else this.#socket?.close(closeCodes.goingAway, "the server is stopping");
  }

  #send(text: string): void {
    // 0: not taken. The socket is closing, or its client has not read for so long that the fuse blew.
    if (this.#socket?.send(text) === 0)
      this.#socket?.close(closeCodes.tryAgainLater, "answers are not being read");
  }

  /** Resolves when the socket can take the next event, so that a slow reader fills its own mailbox and nothing else. */
  #sendEvent(text: string): void | Promise<void> {
    // −1: taken, but the client is behind; `drain` follows.
    if (this.#socket === undefined || this.#socket.send(text) !== -1) return;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }
}
