import { basicAuthorization, bearerAuthorization } from "./basic.ts";
import { isBrowser } from "./browser-upload.ts";
import type { ConnectionPlan } from "./connection.ts";
import { connections } from "./connections.ts";
import { ClientError, PermissionDenied } from "./errors.ts";
import type { Integers } from "./exact-json.ts";
import { BucketFiles } from "./files.ts";
import { type FollowLogOptions, joined, type LogEvent } from "./follow-log.ts";
import { credentialParams, type Methods } from "./methods.ts";
import { retried } from "./retried.ts";
import { hideCredentials, readServerUrl } from "./server-url.ts";
import { runtimeSocketClass, type SocketClass } from "./socket.ts";
import { eventsOf, type SubscribeOptions, Subscription } from "./subscription.ts";
import {
  type CallOptions,
  type Fetch,
  type PostOptions,
  postBatch,
  postCall,
  type WireCall,
} from "./wire.ts";

export type MethodName = keyof Methods;
export type ParamsOf<M extends MethodName> = Methods[M]["params"];
export type ResultOf<M extends MethodName> = Methods[M]["result"];

/** Methods whose results are events. */
export type SubscriptionName = {
  [M in MethodName]: Methods[M] extends { readonly event: unknown } ? M : never;
}[MethodName];
export type EventOf<M extends SubscriptionName> = Methods[M] extends { readonly event: infer E } ? E : never;

/** Params may be left out where none is required. */
export type Arguments<M extends MethodName> =
  Record<never, never> extends ParamsOf<M> ? [params?: ParamsOf<M>] : [params: ParamsOf<M>];

/** One call of a batch. */
export type Call = { [M in MethodName]: readonly [method: M, ...params: Arguments<M>] }[MethodName];
/** For each call of a batch its result, or the error of it alone. */
export type Answers<C extends readonly Call[]> = {
  -readonly [I in keyof C]: ResultOf<C[I][0]> | ClientError;
};

/** A token, or a function that is asked for it before every request: for one that is replaced, or has to be waited for. */
export type TokenSource = string | (() => string | undefined | Promise<string | undefined>);

export interface ClientOptions {
  /** `<key>:<secret>` or `<username>|<password>`; goes with every call that takes one. */
  readonly token?: TokenSource | undefined;
  /**
   * Called with every error of a call, a batch or a file, before it is thrown. Where it answers true the request is sent once more:
   * for a `PermissionDenied` or `FileDenied` after which `token` answers another one.
   */
  readonly onError?: ((error: ClientError) => boolean | Promise<boolean>) | undefined;
  /** For every call that names none of its own. */
  readonly timeoutMs?: number | undefined;
  /**
   * How whole numbers beyond ±2⁵³ arrive, as in 64-bit columns of `node-server_exec_sql`. Default: "bigint", with every digit.
   * With "number" they are rounded, as by `JSON.parse`.
   */
  readonly integers?: Integers | undefined;
  /** Default: the runtime's. */
  readonly fetch?: Fetch | undefined;
  /** Default: the runtime's. Node 20 has none: pass the class of the package `ws`. */
  readonly WebSocket?: SocketClass | undefined;
}

/** How long a subscription may take to begin. */
const connectMs = 30_000;

/** Talks to one server. Calls go by POST, subscriptions over WebSocket, files over WebDAV. */
export class NodeServerClient {
  /** `https://host:port`, without a slash at the end. */
  readonly url: string;
  #next = 1;
  readonly #options: ClientOptions;

  constructor(url: string, options: ClientOptions = {}) {
    this.url = parseUrl(url);
    this.#options = options;
  }

  /** One call. Throws an `RpcError` when the server says no, `Unreachable` when it says nothing. */
  async call<M extends MethodName>(
    method: M,
    ...[params, options]: [...Arguments<M>, options?: CallOptions]
  ): Promise<ResultOf<M>> {
    return (await this.callAny(method, params ?? {}, options as CallOptions | undefined)) as ResultOf<M>;
  }

  /** The same for a method whose name is known only when the program runs. */
  callAny(method: string, params: object = {}, options?: CallOptions | AbortSignal): Promise<unknown> {
    return retried(this.#options.onError, async () => {
      const call = this.#toCall(method, params, await this.#token());
      return postCall(this.#address, call, this.#fetch, this.#patience(options));
    });
  }

  /** Several calls in one request, run in order. Throws only when the batch as a whole comes to nothing. */
  async batch<const C extends readonly Call[]>(calls: C, options?: CallOptions): Promise<Answers<C>> {
    // JSON-RPC 2.0 §6 makes an empty batch an error.
    if (calls.length === 0) return [] as unknown as Answers<C>;
    const { onError } = this.#options;
    const post = async () => {
      const token = await this.#token();
      const wire = calls.map(([method, params]) => this.#toCall(method, params ?? {}, token));
      return postBatch(this.#address, wire, this.#fetch, this.#patience(options));
    };
    const answers = await retried(onError, post);
    const [first] = answers;
    // Sent again only as a whole, so only where none of its calls was run.
    const isRefused = answers.every((answer) => answer instanceof PermissionDenied);
    const again = isRefused && first instanceof ClientError && (await onError?.(first));
    return (again ? await post() : answers) as Answers<C>;
  }

  /** Events as they happen, until the loop is left or `signal` fires. The connection is made again when it breaks. */
  subscribe<M extends SubscriptionName>(
    method: M,
    params: ParamsOf<M>,
    options: SubscribeOptions = {},
  ): Subscription<EventOf<M>> {
    const plan = this.#plan(method, params, options, 1);
    return new Subscription(
      (stop) => eventsOf(plan, options, stop) as AsyncGenerator<EventOf<M>, void>,
      options.signal,
    );
  }

  /**
   * The log that the server keeps in memory and what follows, as one: no entry twice, and no gap that is not told, over broken
   * connections too.
   */
  followLog(options: FollowLogOptions): Subscription<LogEvent> {
    const { log_filter, signal } = options;
    const plan = this.#plan("node-server_stream_log", { log_filter }, options, Number.POSITIVE_INFINITY);
    const kept = (stop: AbortSignal) =>
      this.call("node-server_log", { log_filter }, { signal: stop, timeoutMs: plan.connectMs });
    return new Subscription(
      (stop) => joined(connections(plan, { reconnect: true, welcome: () => kept(stop) }, stop)),
      signal,
    );
  }

  /** The files of a bucket. The token needs all four permissions there. */
  bucket(name: string): BucketFiles {
    return new BucketFiles({
      base: `${this.url}/node/static-webdav/${encodeURIComponent(name)}`,
      authorization: async () => {
        const token = await this.#token();
        if (token === undefined) return undefined;
        return isBrowser() ? bearerAuthorization(token) : basicAuthorization(token);
      },
      fetch: this.#fetch,
      onError: this.#options.onError,
    });
  }

  get #address(): string {
    return `${this.url}/jsonrpc`;
  }

  get #fetch(): Fetch {
    return this.#options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  }

  #plan<M extends SubscriptionName>(
    method: M,
    params: ParamsOf<M>,
    { heartbeatMs = 30_000, buffer = 10_000 }: Pick<SubscribeOptions, "heartbeatMs" | "buffer">,
    atOnce: number,
  ): ConnectionPlan {
    return {
      url: this.#address,
      Socket: this.#options.WebSocket ?? runtimeSocketClass(),
      method,
      params: async () => this.#toCall(method, params, await this.#token()).params,
      connectMs: this.#options.timeoutMs ?? connectMs,
      heartbeatMs,
      buffer,
      atOnce,
      integers: this.#integers,
    };
  }

  #patience(options: CallOptions | AbortSignal = {}): PostOptions {
    const { timeoutMs } = this.#options;
    const own = options instanceof AbortSignal ? { signal: options } : options;
    return { timeoutMs, ...own, integers: this.#integers };
  }

  get #integers(): Integers {
    return this.#options.integers ?? "bigint";
  }

  async #token(): Promise<string | undefined> {
    const { token } = this.#options;
    return typeof token === "function" ? token() : token;
  }

  #toCall(method: string, params: object, token: string | undefined): WireCall {
    const credential = Object.hasOwn(credentialParams, method) ? credentialParams[method] : undefined;
    const all = credential === undefined || token === undefined ? params : { [credential]: token, ...params };
    return { jsonrpc: "2.0", method, params: all, id: this.#next++ };
  }
}

/** In a page, an address may be relative to it. */
function parseUrl(text: string): string {
  const { location } = globalThis as { location?: { href: string } };
  const read = readServerUrl(text, location?.href);
  if ("url" in read) return read.url;
  throw new ClientError(
    read.problem === "credentials"
      ? `the address of ${read.host} holds credentials; give them as \`token\``
      : `"${hideCredentials(text)}" is no address of a server; write it as https://host:port`,
  );
}
