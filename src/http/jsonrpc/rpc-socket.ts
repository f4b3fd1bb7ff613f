import type { Server, ServerWebSocket } from "bun";
import { networkOf } from "../../base/address.ts";
import type { Clock } from "../../base/clock.ts";
import type { MemoryAccount, MemoryBudget } from "../../base/memory-budget.ts";
import type { Turns } from "../../base/turns.ts";
import { errorText, LargeAnswer, type Reply } from "../../rpc/bodies.ts";
import type { Engine } from "../../rpc/engine.ts";
import { memoryIsFull, type RequestSource } from "../../rpc/request-state.ts";
import { Session } from "../../rpc/session.ts";
import { plainText } from "../content/plain.ts";
import { clientLeft } from "../request/client-address.ts";
import { busy, cors, type JsonRpcOptions } from "./post.ts";

/** Calls of one socket that run at once, before and after one of them has proven a token; further ones wait. */
const maxRunningCalls = { unproven: 100, proven: 1000 };
/** Calls of one socket that are started in one tick of the event loop; further ones wait for the next tick. */
const maxCallsPerTick = 16;
/** Memory that a queued message takes beside its text. */
const messageOverheadBytes = 64;
/** A paused socket is read for a moment at this interval, because Bun notices only then that its client has disconnected. */
const livenessMs = 1000;
/** socketIdleSeconds without a pong close a socket; Bun pings it when it is silent. */
export const socketIdleSeconds = 60;

const closeCodes = { goingAway: 1001, restart: 1012, tryAgainLater: 1013 };

/** CloseReason is why the server closes its connections. */
export type CloseReason = "stop" | "restart";

interface RpcSocketOptions {
  readonly engine: Pick<Engine<object>, "answer">;
  readonly traffic: SocketTraffic;
  readonly memory: MemoryBudget;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly address: string;
  /** Called once, when the socket is closed. */
  onClosed(): void;
}

/**
 * RpcSocket is one WebSocket on a JSON-RPC address. Calls are started in the order of arrival. While some wait, or while the client
 * does not read its answers, nothing more is read from the socket. It has more than 15 methods because each event of Bun's socket is one,
 * and queue, memory and pauses decide together whether to read on.
 */
export class RpcSocket {
  readonly #options: RpcSocketOptions;
  readonly #session: Session;
  readonly #source: RequestSource;
  readonly #account: MemoryAccount;
  readonly #disconnected = new AbortController();
  #socket: ServerWebSocket<RpcSocket> | undefined;
  /** Messages whose calls are not started yet. */
  #queue: string[] = [];
  #queuedBytes = 0;
  /** Texts of running calls, and answers being made. */
  #reservedBytes = 0;
  #isProven = false;
  #tick = 0;
  #callsInTick = 0;
  #running = 0;
  #liveness: Timer | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: RpcSocketOptions) {
    this.#options = options;
    this.#session = new Session((next) => this.#sendEvents(next));
    this.#account = options.memory.open(networkOf(options.address));
    this.#source = this.#toSource();
  }

  opened(socket: ServerWebSocket<RpcSocket>): void {
    this.#socket = socket;
  }

  received(message: string | Buffer): void | Promise<void> {
    const text = typeof message === "string" ? message : message.toString("utf8");
    this.#options.traffic.received(message);
    const isNext = this.#queue.length === 0 && !this.#options.turns.isCrowded;
    if (isNext && this.#mayStart()) return this.#start(text);
    this.#queue.push(text);
    this.#queuedBytes += text.length + messageOverheadBytes;
    this.#pause();
    if (!this.#count()) this.#cutOff("too many calls are waiting; wait for answers before sending more");
    else if (this.#isReady()) this.#options.turns.add(this);
  }

  /** Starts some of the queued calls; true while it may start more. Called by `Turns`. */
  work(): boolean {
    while (this.#queue.length > 0 && this.#mayStart()) {
      const text = this.#queue.shift() ?? "";
      this.#queuedBytes -= text.length + messageOverheadBytes;
      void this.#start(text);
    }
    this.#count();
    if (this.#queue.length > 0) return this.#isReady();
    this.#continue();
    return false;
  }

  /** Whether a call runs. */
  get isBusy(): boolean {
    return this.#running > 0;
  }

  /** Bun has queued a pong. A client that does not read its pongs must not be read from. */
  pinged(): void {
    if (!this.#count()) this.#cutOff("answers are not being read");
    else if (this.#bufferedBytes() > 0) this.#pause();
  }

  drained(): void {
    this.#count();
    if (this.#bufferedBytes() > 0) return;
    this.#drained?.resolve();
    this.#drained = undefined;
    this.#continue();
  }

  closed(): void {
    this.#socket = undefined;
    this.#queue = [];
    this.#queuedBytes = 0;
    clearTimeout(this.#liveness);
    this.#disconnected.abort();
    this.#session.close();
    this.#drained?.resolve();
    this.#drained = undefined;
    this.#account[Symbol.dispose]();
    this.#options.onClosed();
  }

  /** Waits for the running calls, then closes the socket. */
  async close(reason: CloseReason): Promise<void> {
    if (this.#running > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    this.#session.endAll(reason === "restart" ? "restart" : "shutdown");
    if (reason === "restart")
      this.#socket?.close(closeCodes.restart, "the server restarts; come back in a moment");
    else this.#socket?.close(closeCodes.goingAway, "the server is stopping");
  }

  #toSource(): RequestSource {
    const isProven = () => this.#isProven;
    return {
      address: this.#options.address,
      disconnected: this.#disconnected.signal,
      session: this.#session,
      streams: false,
      get isProven() {
        return isProven();
      },
      requireAddress: () => {},
      noteAddress: () => this.#options.address,
      withoutSlot: (wait) => wait(),
      proved: () => {
        this.#isProven = true;
        this.#account.prove();
      },
      noteMethod: () => {},
      reserve: (bytes) => this.#reserve(bytes),
    };
  }

  /** Whether another call may be started in this tick. */
  #mayStart(): boolean {
    // Only a client with many calls in a turn is worth the price of knowing when the next one begins.
    const { turns } = this.#options;
    const tick = this.#callsInTick < maxCallsPerTick / 2 ? turns.last : turns.current;
    if (tick !== this.#tick) {
      this.#tick = tick;
      this.#callsInTick = 0;
    }
    return this.#callsInTick < maxCallsPerTick && this.#isReady();
  }

  /** Whether the socket is open, its client reads, and not too many of its calls run. */
  #isReady(): boolean {
    const max = this.#isProven ? maxRunningCalls.proven : maxRunningCalls.unproven;
    return this.#socket !== undefined && this.#running < max && this.#bufferedBytes() === 0;
  }

  #start(text: string): void | Promise<void> {
    this.#callsInTick += 1;
    if (!this.#reserve(text.length)) return this.#send(errorText(memoryIsFull(), "null"));
    const answer = this.#options.engine.answer(text, this.#source);
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
      if (reply.delayMs > 0) await this.#options.clock.sleep(reply.delayMs);
      const text = reply.body instanceof LargeAnswer ? await reply.body.text() : reply.body;
      // From here on the answer is counted among the bytes that the socket buffers.
      this.#reservedBytes -= held;
      held = 0;
      this.#reply(reply, text);
    } finally {
      this.#running -= 1;
      this.#release(held);
      if (this.#running === 0) this.#idle?.resolve();
      this.#continue();
    }
  }

  #reply({ sent }: Reply, text: string | undefined): void {
    if (text !== undefined) this.#send(text);
    sent?.();
  }

  /** Starts queued calls, or reads from the socket again, if nothing prevents it any more. */
  #continue(): void {
    if (!this.#isReady()) return;
    if (this.#queue.length > 0) {
      this.#options.turns.add(this);
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
    // 0: dropped. The socket is closing, or its client has not read for so long that Bun's own limit is reached.
    this.#options.traffic.sent(text);
    if (this.#socket?.send(text) === 0 || !this.#count()) this.#cutOff("answers are not being read");
  }

  /** Resolves when the socket accepts the next event, so that a slow client fills its own mailbox and nothing else. */
  #sendEvents(next: () => string | undefined): void | Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) {
      // Nobody is there to read them.
      while (next() !== undefined);
      return;
    }
    let isFull = false;
    // Corked, the texts are one system call.
    socket.cork(() => {
      while (!isFull) {
        const text = next();
        if (text === undefined) return;
        this.#options.traffic.sent(text);
        // −1: buffered, because the client reads slowly; `drain` follows.
        isFull = socket.send(text) === -1;
      }
    });
    if (!isFull && this.#bufferedBytes() === 0) return;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #cutOff(reason: string): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#socket?.close(closeCodes.tryAgainLater, reason);
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

  /** Updates the memory budget with all bytes that the socket makes the server hold; false if that is too much. */
  #count(): boolean {
    return this.#account.hold(this.#queuedBytes + this.#reservedBytes + this.#bufferedBytes());
  }
}

/** The addresses that accept WebSockets, for people. */
const socketAddresses = "/jsonrpc, /node/rpc or /";

export interface SocketOptions {
  readonly jsonRpc: JsonRpcOptions;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly traffic: SocketTraffic;
  /** The sockets that are open on this listener; it closes them when it closes. */
  readonly sockets: Set<RpcSocket>;
}

/** isHandshake returns whether a GET is the opening handshake of a WebSocket (RFC 6455 §4.1), complete or not. */
export function isHandshake({ headers }: Request): boolean {
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** openSocket upgrades the connection to a WebSocket for JSON-RPC; undefined when Bun has taken it over. */
export function openSocket(
  request: Request,
  server: Server<RpcSocket>,
  { jsonRpc, turns, clock, traffic, sockets }: SocketOptions,
): Response | undefined {
  const { addresses, connections, engine, memory } = jsonRpc;
  const address = addresses.of(request, server);
  if (address === undefined) return clientLeft();
  const permit = connections.tryAcquire();
  if (permit === undefined) return busy();
  const socket = new RpcSocket({
    engine,
    memory,
    turns,
    clock,
    traffic,
    address,
    onClosed: () => {
      permit.release();
      sockets.delete(socket);
    },
  });
  sockets.add(socket);
  if (server.upgrade(request, { data: socket })) return undefined;
  socket.closed();
  return plainText(400, "400 Bad Request: invalid WebSocket handshake.", cors);
}

/** refuseHandshake answers a handshake at another address: a page with status 200 would help no client. */
export function refuseHandshake(): Response {
  return plainText(
    400,
    `400 Bad Request: no WebSocket is served at this address; open it at ${socketAddresses}.`,
    cors,
  );
}

/** refuseTerminal answers at `/terminal`, which the specification reserves; this server has no terminal. */
export function refuseTerminal(): Response {
  return plainText(501, "501 Not Implemented: this server has no terminal.");
}

export function terminalNeedsUpgrade(): Response {
  return plainText(426, "426 Upgrade Required: this address is for WebSocket.", {
    upgrade: "websocket",
    connection: "Upgrade",
  });
}

/** SocketTraffic counts the messages of all WebSockets. */
export class SocketTraffic {
  receivedMessages = 0;
  receivedBytes = 0;
  sentMessages = 0;
  sentBytes = 0;

  received(message: string | Buffer): void {
    this.receivedMessages += 1;
    this.receivedBytes += Buffer.byteLength(message);
  }

  sent(message: string): void {
    this.sentMessages += 1;
    this.sentBytes += Buffer.byteLength(message);
  }
}
