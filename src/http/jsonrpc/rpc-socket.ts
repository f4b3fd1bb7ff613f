import type { ServerWebSocket } from "bun";
import { networkOf } from "../../base/address.ts";
import type { MemoryAccount, MemoryBudget } from "../../base/memory-budget.ts";
import type { Turns } from "../../base/turns.ts";
import { errorText } from "../../rpc/bodies.ts";
import type { Engine } from "../../rpc/engine.ts";
import { LargeAnswer } from "../../rpc/large-answer.ts";
import type { Reply } from "../../rpc/reply.ts";
import { memoryIsFull, type RequestSource } from "../../rpc/request-state.ts";
import { Session } from "../../rpc/session.ts";

/** So many calls of one socket run at once, before and after one of them has proven a token; the next ones wait. */
const maxRunning = { stranger: 100, proven: 1000 };
/** So many calls of one socket are begun in one turn of the event loop; the next ones wait for the next turn. */
const callsPerTurn = 16;
/** What a message costs in memory beside its text. */
const messageBytes = 64;
/** A socket that is not read from is read for a moment this often: only so is it noticed that its client has left. */
const livenessMs = 1000;
/** Bun pings a socket that is silent, and drops it when this many seconds pass without a pong. */
export const socketIdleSeconds = 60;

const closeCodes = { goingAway: 1001, restart: 1012, tryAgainLater: 1013 };

/** Why the server leaves its clients. */
export type Goodbye = "stop" | "restart";

export interface ConnectionParts {
  readonly engine: Pick<Engine<object>, "answer">;
  readonly memory: MemoryBudget;
  readonly turns: Turns;
  readonly address: string;
  /** Called once, when the socket is gone. */
  gone(): void;
}

/**
 * One WebSocket on the JSON-RPC route: its session, and its pace. Messages are answered in order of arrival. While some wait,
 * or while the client does not read its answers, nothing more is read from the socket.
 */
export class Connection {
  readonly #session: Session;
  readonly #origin: RequestSource;
  readonly #account: MemoryAccount;
  readonly #left = new AbortController();
  #socket: ServerWebSocket<Connection> | undefined;
  /** Messages that wait for their turn. */
  #queue: string[] = [];
  #queuedBytes = 0;
  /** Texts of running calls, and answers that are made. */
  #reservedBytes = 0;
  #isProven = false;
  #turn = 0;
  #callsInTurn = 0;
  #running = 0;
  #liveness: Timer | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(private readonly parts: ConnectionParts) {
    this.#session = new Session((text) => this.#sendEvent(text));
    this.#account = parts.memory.open(networkOf(parts.address));
    this.#origin = this.#toSource();
  }

  opened(socket: ServerWebSocket<Connection>): void {
    this.#socket = socket;
  }

  received(message: string | Buffer): void | Promise<void> {
    const text = typeof message === "string" ? message : message.toString("utf8");
    const isNext = this.#queue.length === 0 && !this.parts.turns.isCrowded;
    if (isNext && this.#mayBegin()) return this.#begin(text);
    this.#queue.push(text);
    this.#queuedBytes += text.length + messageBytes;
    this.#pause();
    if (!this.#count())
      this.#cutOff("more calls wait than the server may keep; wait for answers before sending more");
    else if (this.#mayGoOn()) this.parts.turns.add(this);
  }

  /** Begins some of the calls that wait. */
  work(): boolean {
    while (this.#queue.length > 0 && this.#mayBegin()) {
      const text = this.#queue.shift() ?? "";
      this.#queuedBytes -= text.length + messageBytes;
      void this.#begin(text);
    }
    this.#count();
    if (this.#queue.length > 0) return this.#mayGoOn();
    this.#goOn();
    return false;
  }

  /** Whether a call of it runs. */
  get isBusy(): boolean {
    return this.#running > 0;
  }

  /** Bun has answered a ping; a client that does not read the answers is not read from. */
  pinged(): void {
    if (!this.#count()) this.#cutOff("answers are not being read");
    else if (this.#bufferedBytes() > 0) this.#pause();
  }

  drained(): void {
    this.#count();
    if (this.#bufferedBytes() > 0) return;
    this.#drained?.resolve();
    this.#drained = undefined;
    this.#goOn();
  }

  closed(): void {
    this.#socket = undefined;
    this.#queue = [];
    this.#queuedBytes = 0;
    clearTimeout(this.#liveness);
    this.#left.abort();
    this.#session.close();
    this.#drained?.resolve();
    this.#drained = undefined;
    this.#account[Symbol.dispose]();
    this.parts.gone();
  }

  /** Finishes what runs, then says goodbye. */
  async leave(why: Goodbye): Promise<void> {
    if (this.#running > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    this.#session.endAll(why === "restart" ? "restart" : "shutdown");
    if (why === "restart")
      this.#socket?.close(closeCodes.restart, "the server restarts; come back in a moment");
    else this.#socket?.close(closeCodes.goingAway, "the server is stopping");
  }

  #toSource(): RequestSource {
    const isProven = () => this.#isProven;
    return {
      address: this.parts.address,
      disconnected: this.#left.signal,
      session: this.#session,
      streams: false,
      get isProven() {
        return isProven();
      },
      withoutSlot: (wait) => wait(),
      proved: () => {
        this.#isProven = true;
        this.#account.prove();
      },
      reserve: (bytes) => this.#reserve(bytes),
    };
  }

  /** Whether the socket has calls left in this turn, and is ready for them. */
  #mayBegin(): boolean {
    const turn = this.parts.turns.current;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#callsInTurn = 0;
    }
    return this.#callsInTurn < callsPerTurn && this.#mayGoOn();
  }

  #mayGoOn(): boolean {
    const most = this.#isProven ? maxRunning.proven : maxRunning.stranger;
    return this.#socket !== undefined && this.#running < most && this.#bufferedBytes() === 0;
  }

  #begin(text: string): void | Promise<void> {
    this.#callsInTurn += 1;
    if (!this.#reserve(text.length)) return this.#send(errorText(memoryIsFull(), "null"));
    const answer = this.parts.engine.answer(text, this.#origin);
    if (answer instanceof Promise) return this.#finish(answer, text.length);
    this.#reservedBytes -= text.length + answer.reservedBytes;
    this.#reply(answer, typeof answer.body === "string" ? answer.body : undefined);
  }

  async #finish(answer: Promise<Reply>, requestBytes: number): Promise<void> {
    this.#running += 1;
    let held = requestBytes;
    try {
      const reply = await answer;
      held += reply.reservedBytes;
      if (reply.delayMs > 0) await Bun.sleep(reply.delayMs);
      const text = reply.body instanceof LargeAnswer ? await reply.body.text() : reply.body;
      // What is sent counts as what the socket holds unsent.
      this.#reservedBytes -= held;
      held = 0;
      this.#reply(reply, text);
    } finally {
      this.#running -= 1;
      this.#release(held);
      if (this.#running === 0) this.#idle?.resolve();
      this.#goOn();
    }
  }

  #reply({ sent }: Reply, text: string | undefined): void {
    if (text !== undefined) this.#send(text);
    sent?.();
  }

  /** Lets calls that wait continue, when what they waited for is over. */
  #goOn(): void {
    if (!this.#mayGoOn()) return;
    if (this.#queue.length > 0) {
      this.parts.turns.add(this);
      return;
    }
    clearTimeout(this.#liveness);
    if (this.#socket?.isPaused) this.#socket.resume();
  }

  #pause(): void {
    if (this.#socket?.isPaused !== false) return;
    this.#socket.pause();
    clearTimeout(this.#liveness);
    this.#liveness = setTimeout(() => this.#socket?.resume(), livenessMs);
  }

  #send(text: string): void {
    // 0: not taken. The socket is closing, or its client has not read for so long that Bun's own limit was reached.
    if (this.#socket?.send(text) === 0 || !this.#count()) this.#cutOff("answers are not being read");
  }

  /** Resolves when the socket can take the next event, so that a slow reader fills its own mailbox and nothing else. */
  #sendEvent(text: string): void | Promise<void> {
    // −1: taken, but the client is behind; `drain` follows.
    if (this.#socket === undefined || this.#socket.send(text) !== -1) return;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #cutOff(why: string): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#socket?.close(closeCodes.tryAgainLater, why);
  }

  #bufferedBytes(): number {
    return this.#socket?.getBufferedAmount() ?? 0;
  }

  #reserve(bytes: number): boolean {
    this.#reservedBytes += bytes;
    if (this.#count()) return true;
    this.#reservedBytes -= bytes;
    return false;
  }

  #release(bytes: number): void {
    this.#reservedBytes -= bytes;
    this.#count();
  }

  /** Counts in the memory budget what the socket makes the server hold; false when it has no room for it. */
  #count(): boolean {
    return this.#account.hold(this.#queuedBytes + this.#reservedBytes + this.#bufferedBytes());
  }
}
