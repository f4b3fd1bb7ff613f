import type { Server } from "bun";
import type { Caller } from "../../auth/caller.ts";
import { bodySizeOf } from "../content/plain.ts";
import { receivedBytes } from "./body.ts";

/** handlerNames are the parts of the server that answer requests, as metrics and the access log name them. */
export const handlerNames = [
  "jsonrpc",
  "static",
  "webdav",
  "s3",
  "upload",
  "links",
  "console",
  "health",
  "metrics",
  "other",
] as const;
export type HandlerName = (typeof handlerNames)[number];

export interface ArrivedRequest {
  readonly request: Request;
  readonly server: Server<unknown>;
  readonly handler: HandlerName;
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number;
}

/** EndedRequest is a request with the outcome of its response. */
export interface EndedRequest extends ArrivedRequest {
  readonly method: string;
  /** 101 if the connection became a WebSocket. */
  readonly status: number;
  /** `performance.now()` when the response was handed to Bun, or, for one made while it is sent, when its last byte was. */
  readonly endedAt: number;
  /** Bytes of the request's body. */
  readonly receivedBytes: number;
  /** Bytes of the response's body: all of them, although a client may disconnect before it has read a body of known length. */
  readonly sentBytes: number;
}

/** RequestObserver sees every request of every listener. Its methods must return at once and must not throw. */
export interface RequestObserver {
  /** Called when a request arrives; only here is the client's address certain to be known. */
  started?(request: Request, server: Server<unknown>): void;
  /** Called once for each request. */
  ended(ended: EndedRequest): void;
}

/** RequestObservers reports the requests of all listeners to those attached. */
export class RequestObservers {
  #observers: readonly RequestObserver[] = [];
  #starting: readonly RequestObserver[] = [];

  /** Attaches an observer until the returned function is called. */
  attach(observer: RequestObserver): () => void {
    this.#set([...this.#observers, observer]);
    return () => this.#set(this.#observers.filter((other) => other !== observer));
  }

  started(request: Request, server: Server<unknown>): void {
    for (const observer of this.#starting) observer.started?.(request, server);
  }

  /** Reports the end of a request when the size of the response is known. `response` is undefined for a new WebSocket. */
  ended(arrived: ArrivedRequest, response: Response | undefined): void {
    if (this.#observers.length === 0) return;
    const size = response === undefined ? 0 : bodySizeOf(response);
    const status = response?.status ?? 101;
    if (typeof size === "number") {
      this.#report(arrived, status, size);
      return;
    }
    size.whenEnded((bytes) => this.#report(arrived, status, bytes));
    // If the client disconnects, Bun may drop the body without ending what makes it.
    arrived.request.signal.addEventListener("abort", () => size.end());
  }

  #report({ request, server, handler, startedAt }: ArrivedRequest, status: number, bytes: number): void {
    const { method } = request;
    const ended: EndedRequest = {
      request,
      server,
      handler,
      startedAt,
      method,
      status,
      endedAt: performance.now(),
      receivedBytes: method === "GET" ? 0 : receivedBytes(request),
      sentBytes: method === "HEAD" ? 0 : bytes,
    };
    for (const observer of this.#observers) observer.ended(ended);
  }

  #set(observers: readonly RequestObserver[]): void {
    this.#observers = observers;
    this.#starting = observers.filter(({ started }) => started !== undefined);
  }
}

const notes = Symbol("notes");

/** RequestNotes are facts about a request that only its handler learns, for the access log. */
export interface RequestNotes {
  /** Who made the request, once its credentials are proven. */
  readonly caller?: Caller | undefined;
  /** The methods that a JSON-RPC request calls. */
  readonly rpcMethods?: readonly string[] | undefined;
}

interface NotedRequest extends Request {
  [notes]?: RequestNotes;
}

/** noteOn attaches notes to a request. They are read when it has ended, so they may be filled until then. */
export function noteOn(request: NotedRequest, about: RequestNotes): void {
  request[notes] = about;
}

export function notesOf(request: NotedRequest): RequestNotes {
  return request[notes] ?? none;
}

const none: RequestNotes = {};
