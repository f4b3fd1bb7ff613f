import { Disconnected, NotNodeServer, TimedOut, toRpcError, Unreachable } from "./errors.ts";
import { type Integers, parseExactly, stringifyExactly } from "./exact-json.ts";
import { type EndReason, endReasons } from "./methods.ts";
import type { SocketClass, SocketLike } from "./socket.ts";
import { isAnswer } from "./wire.ts";

export interface ConnectionPlan {
  readonly url: string;
  readonly Socket: SocketClass;
  readonly method: string;
  /** Called for every connection, because the token may have changed. */
  readonly params: () => Promise<object>;
  readonly connectTimeoutMs: number;
  /** 0 turns it off. */
  readonly heartbeatMs: number;
  /** How many events wait for their reader; newer ones are counted and dropped. */
  readonly maxBuffered: number;
  readonly maxEventsPerPiece: number;
  readonly integers: Integers;
}

/** Piece is what a reader gets: events, or how many were dropped between them. */
export type Piece =
  | { readonly kind: "events"; readonly events: unknown[] }
  | { readonly kind: "missed"; count: number; readonly by: "server" | "client" };

/** Params of a notification of a subscription: an event, how many were dropped before the next one, or its end. */
interface Notification {
  readonly result?: unknown;
  readonly dropped?: number;
  readonly end?: { readonly reason: string };
}

const ids = { subscribe: 1, heartbeat: 2 };

/** Connection is one WebSocket with one subscription. */
export class Connection {
  /** Why it ended. */
  ended: Error | undefined;
  /** Why the server ended the subscription, if it did before it closed the connection. */
  endReason: EndReason | undefined;

  readonly #plan: ConnectionPlan;
  readonly #socket: SocketLike;
  readonly #waiting: Piece[] = [];
  #waitingEvents = 0;
  #subscribed = false;
  #wake: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(plan: ConnectionPlan) {
    this.#plan = plan;
    const { url, Socket } = plan;
    const socket = new Socket(url.replace(/^http/, "ws"));
    this.#socket = socket;
    let isOpen = false;
    let detail = "";
    const closed = ({ code, reason }: { code: number; reason: string }) =>
      this.#end(
        this.#subscribed
          ? new Disconnected(`the connection to ${url} broke (${closeText(code, reason || detail)})`, code)
          : new Unreachable(`${url} cannot be reached by WebSocket (${closeText(code, detail)})`),
      );
    socket.onopen = () => {
      isOpen = true;
      void this.#subscribe();
    };
    socket.onerror = ({ message }: { message?: unknown }) => {
      if (typeof message === "string" && message !== "") detail = message;
      // Node's WebSocket reports a failed handshake by `error` alone; elsewhere `close` follows in the same task.
      if (!isOpen) setTimeout(() => closed({ code: 1006, reason: "" }));
    };
    socket.onclose = closed;
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(data);
    this.#watchConnect();
  }

  /** Resolves when the subscription has begun; throws when it cannot. */
  async opened(): Promise<void> {
    while (!this.#subscribed && this.ended === undefined) await this.#change();
    if (!this.#subscribed) throw this.ended;
  }

  /** Yields what arrives, in order, until the connection ends. */
  async *received(): AsyncGenerator<Piece, void> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        if (next.kind === "events") this.#waitingEvents -= next.events.length;
        yield next;
      }
      if (this.ended !== undefined) return;
      await this.#change();
    }
  }

  /** Closes at once; what was not read is dropped. */
  close(): void {
    this.#waiting.length = 0;
    this.#end(new Disconnected("closed by this side", 1000));
  }

  #received(data: unknown): void {
    const message = parse(data, this.#plan.integers);
    if (message === undefined)
      this.#end(new NotNodeServer(`${this.#plan.url} sent something that is not JSON-RPC`));
    else if (!isAnswer(message)) this.#notified((message as { params?: Notification }).params ?? {});
    else if (!this.#subscribed && message.error !== undefined) this.#end(toRpcError(message.error));
    else if (message.id === ids.subscribe) this.#subscribed = true;
    if (this.ended !== undefined || !this.#subscribed) return;
    this.#watch(this.#plan.heartbeatMs, () => this.#sendHeartbeat());
    this.#wake?.();
  }

  /** Calls a cheap method, because a peer that vanished without closing is noticed only by its silence. */
  #sendHeartbeat(): void {
    const { heartbeatMs, url } = this.#plan;
    this.#ask("node-server_hello", {}, ids.heartbeat);
    this.#watch(heartbeatMs, () =>
      this.#end(new Disconnected(`${url} has been silent for ${2 * heartbeatMs} ms`, 1006)),
    );
  }

  #notified({ result, dropped, end }: Notification): void {
    if (end !== undefined) this.#endedByServer(end.reason);
    else if (dropped !== undefined) this.#miss(dropped, "server");
    else this.#take(result);
  }

  #take(event: unknown): void {
    if (this.#waitingEvents >= this.#plan.maxBuffered) {
      this.#miss(1, "client");
      return;
    }
    this.#waitingEvents += 1;
    const last = this.#waiting.at(-1);
    if (last?.kind === "events" && last.events.length < this.#plan.maxEventsPerPiece) last.events.push(event);
    else this.#waiting.push({ kind: "events", events: [event] });
  }

  #miss(count: number, by: "server" | "client"): void {
    const last = this.#waiting.at(-1);
    if (last?.kind === "missed" && last.by === by) last.count += count;
    else this.#waiting.push({ kind: "missed", count, by });
  }

  #endedByServer(reason: string): void {
    // The server closes the connection next, with a code that says as much.
    if (reason === "shutdown" || reason === "restart") return;
    this.endReason = endReasons.find((known) => known === reason) ?? "failed";
    this.#end(new Disconnected(`${this.#plan.url} ended the subscription (${reason})`));
  }

  async #subscribe(): Promise<void> {
    const { method, params } = this.#plan;
    // The token may come from a person; that does not count as time to connect.
    clearTimeout(this.#timer);
    try {
      const all = await params();
      if (this.ended !== undefined) return;
      this.#watchConnect();
      this.#ask(method, all, ids.subscribe);
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #ask(method: string, params: object, id: number): void {
    this.#socket.send(stringifyExactly({ jsonrpc: "2.0", method, params, id }));
  }

  #watchConnect(): void {
    const { url, connectTimeoutMs } = this.#plan;
    this.#watch(connectTimeoutMs, () =>
      this.#end(new TimedOut(`${url} did not answer by WebSocket within ${connectTimeoutMs} ms`)),
    );
  }

  #watch(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = ms > 0 ? setTimeout(then, ms) : undefined;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(why: Error): void {
    if (this.ended !== undefined) return;
    this.ended = why;
    clearTimeout(this.#timer);
    const socket = this.#socket as SocketLike & { terminate?: () => void };
    socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
    // The peer is gone: a closing handshake would wait for nothing.
    if (why instanceof Disconnected && why.code === 1006 && socket.terminate !== undefined)
      socket.terminate();
    else socket.close();
    this.#wake?.();
  }
}

function closeText(code: number, detail: string): string {
  return detail === "" ? String(code) : `${code}, ${detail}`;
}

function parse(data: unknown, integers: Integers): object | undefined {
  if (typeof data !== "string") return undefined;
  try {
    const value: unknown = integers === "bigint" ? parseExactly(data) : JSON.parse(data);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
