import { BucketFiles } from "./files.ts";
import { credentialParams, type Methods } from "./methods.ts";
import { events, type SubscribeOptions } from "./stream.ts";
import { post, resultOf, type WireCall } from "./wire.ts";

export type MethodName = keyof Methods;
export type ParamsOf<M extends MethodName> = Methods[M]["params"];
export type ResultOf<M extends MethodName> = Methods[M]["result"];

/** Methods whose results are events. */
export type SubscriptionName = {
  [M in MethodName]: Methods[M] extends { readonly event: unknown } ? M : never;
}[MethodName];
export type EventOf<M extends SubscriptionName> = Methods[M] extends { readonly event: infer E } ? E : never;

/** Methods that can be called without params. */
type Bare<M extends MethodName> =
  Record<never, never> extends ParamsOf<M> ? [params?: ParamsOf<M>] : [params: ParamsOf<M>];

/** One call of a batch. */
export type Call = { [M in MethodName]: readonly [method: M, ...params: Bare<M>] }[MethodName];
type Answers<C extends readonly Call[]> = { -readonly [I in keyof C]: ResultOf<C[I][0]> | Error };

export interface ClientOptions {
  /** `<key>:<secret>` or `<username>|<password>`; goes with every call that takes one. */
  readonly token?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly WebSocket?: typeof globalThis.WebSocket;
}

/** Talks to one server. Calls go by POST, subscriptions over WebSocket, files over WebDAV. */
export class NodeServerClient {
  /** `https://host:port`, without a slash at the end. */
  readonly url: string;
  #next = 1;

  constructor(
    url: string,
    private readonly options: ClientOptions = {},
  ) {
    this.url = url.replace(/\/+$/, "").replace(/\/jsonrpc$/, "");
  }

  /** One call. Throws an `RpcError` when the server says no, `Unreachable` when it says nothing. */
  async call<M extends MethodName>(method: M, ...[params]: Bare<M>): Promise<ResultOf<M>> {
    return (await this.callAny(method, params ?? {})) as ResultOf<M>;
  }

  /** The same for a method whose name is known only when the program runs. */
  async callAny(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const [answer] = await this.#post(this.#toCall(method, params), signal);
    return resultOf(answer);
  }

  /** Several calls in one request, run in order. Each answer is a result or the error of its call. */
  async batch<const C extends readonly Call[]>(calls: C): Promise<Answers<C>> {
    const wire = calls.map(([method, params]) => this.#toCall(method, params ?? {}));
    const answers = await this.#post(wire, undefined);
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    return wire.map(({ id }) => {
      try {
        return resultOf(byId.get(id) ?? (answers.length === 1 ? answers[0] : undefined));
      } catch (error) {
        return error;
      }
    }) as Answers<C>;
  }

  /** Events as they happen, until the loop is left or `signal` fires. The connection is made again when it breaks. */
  subscribe<M extends SubscriptionName>(
    method: M,
    params: ParamsOf<M>,
    options: SubscribeOptions = {},
  ): AsyncGenerator<EventOf<M>, void> {
    const Socket = this.options.WebSocket ?? globalThis.WebSocket;
    if (Socket === undefined)
      throw new TypeError(
        "this runtime has no WebSocket; give one in the options (Node 22 has it, Node 20 with the package ws)",
      );
    const { params: all } = this.#toCall(method, params);
    return events(`${this.url}/jsonrpc`, method, all, Socket, options) as AsyncGenerator<EventOf<M>, void>;
  }

  /** The files of a bucket. The token needs all four permissions there. */
  bucket(name: string): BucketFiles {
    return new BucketFiles(
      `${this.url}/node/static-webdav/${encodeURIComponent(name)}`,
      basic(this.options.token ?? ""),
      this.options.fetch ?? globalThis.fetch,
    );
  }

  #post(calls: WireCall | readonly WireCall[], signal: AbortSignal | undefined) {
    return post(`${this.url}/jsonrpc`, calls, { fetch: this.options.fetch ?? globalThis.fetch, signal });
  }

  #toCall(method: string, params: object): WireCall {
    const credential = credentialParams[method];
    const { token } = this.options;
    const all = credential === undefined || token === undefined ? params : { [credential]: token, ...params };
    return { jsonrpc: "2.0", method, params: all, id: this.#next++ };
  }
}

function basic(token: string): string {
  const at = token.search(/[:|]/);
  const text = at === -1 ? token : `${token.slice(0, at)}:${token.slice(at + 1)}`;
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}`;
}
