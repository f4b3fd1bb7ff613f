import { basicAuthorization, bearerAuthorization } from "./basic.ts";
import { isBrowser } from "./browser-upload.ts";
import type { ConnectionPlan } from "./connection.ts";
import { connections } from "./connections.ts";
import { ClientError, PermissionDenied } from "./errors.ts";
import type { Integers } from "./exact-json.ts";
import { BucketFiles } from "./files.ts";
import { followBucket, type WatchBucketOptions } from "./follow-bucket.ts";
import { type FollowLogOptions, joinLog, type LogEvent } from "./follow-log.ts";
import { type BucketEvent, credentialParams, type Methods } from "./methods.ts";
import { retried } from "./retry.ts";
import { hideCredentials, readServerUrl } from "./server-url.ts";
import { runtimeSocketClass, type SocketClass } from "./socket.ts";
import { SocketCalls } from "./socket-calls.ts";
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
/** For each call of a batch, its result or its own error. */
export type Answers<C extends readonly Call[]> = {
  -readonly [I in keyof C]: ResultOf<C[I][0]> | ClientError;
};

/** A token, or a function that is called before every request, for a token that changes or is fetched. */
export type TokenSource = string | (() => string | undefined | Promise<string | undefined>);

export interface ClientOptions {
  /** `<key>:<secret>` or `<username>|<password>`; sent with every call that takes one. */
  readonly token?: TokenSource | undefined;
  /**
   * Called with every error of a call, a batch or a file before it is thrown. If it returns true, the request is sent once more:
   * for a `PermissionDenied` or `FileDenied` after which `token` returns another one.
   */
  readonly onError?: ((error: ClientError) => boolean | Promise<boolean>) | undefined;
  /** The timeout of every call that has none of its own. */
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

/** SqlRows are some of the rows of a query. */
export interface SqlRows {
  /** In the order of the query. */
  readonly columns: readonly string[];
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

/** How long a subscription may take to begin, without `timeoutMs`. */
const connectTimeoutMs = 30_000;

/** NodeServerClient talks to one server: calls by POST, subscriptions over WebSocket, files over WebDAV. */
export class NodeServerClient {
  /** `https://host:port`, without a slash at the end. */
  readonly url: string;
  #nextId = 1;
  readonly #options: ClientOptions;

  constructor(url: string, options: ClientOptions = {}) {
    this.url = parseUrl(url);
    this.#options = options;
  }

  /** Calls a method. Throws an `RpcError` when the server answers with an error, `Unreachable` when it does not answer. */
  async call<M extends MethodName>(
    method: M,
    ...[params, options]: [...Arguments<M>, options?: CallOptions]
  ): Promise<ResultOf<M>> {
    return (await this.callAny(method, params ?? {}, options as CallOptions | undefined)) as ResultOf<M>;
  }

  /** Calls a method whose name is known only at run time. */
  callAny(method: string, params: object = {}, options?: CallOptions): Promise<unknown> {
    return retried(this.#options.onError, async () => {
      const call = this.#toCall(method, params, await this.#token());
      return postCall(this.#address, call, this.#fetch, this.#postOptions(options));
    });
  }

  /** Sends several calls in one request; they run in order. Throws only when the batch as a whole fails. */
  async batch<const C extends readonly Call[]>(calls: C, options?: CallOptions): Promise<Answers<C>> {
    // JSON-RPC 2.0 §6 makes an empty batch an error.
    if (calls.length === 0) return [] as unknown as Answers<C>;
    const { onError } = this.#options;
    const post = async () => {
      const token = await this.#token();
      const wire = calls.map(([method, params]) => this.#toCall(method, params ?? {}, token));
      return postBatch(this.#address, wire, this.#fetch, this.#postOptions(options));
    };
    const answers = await retried(onError, post);
    const [first] = answers;
    // A batch is repeated as a whole, so only if none of its calls was run.
    const isRefused = answers.every((answer) => answer instanceof PermissionDenied);
    const again = isRefused && first instanceof ClientError && (await onError?.(first));
    return (again ? await post() : answers) as Answers<C>;
  }

  /** Yields events as they happen, until the loop is left or `signal` fires. A broken connection is made again. */
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
   * Yields the log entries that the server keeps in memory and then the new ones: none twice, and every possible gap is reported, also
   * after a broken connection. The token needs `{"node": "read_logs"}` in scope global, or is the Super Token.
   */
  followLog(options: FollowLogOptions): Subscription<LogEvent> {
    const { log_filter, signal } = options;
    const plan = this.#plan("log_stream", { log_filter }, options, Number.POSITIVE_INFINITY);
    const readMemory = (stop: AbortSignal) =>
      this.call("log_list", { log_filter }, { signal: stop, timeoutMs: plan.connectTimeoutMs });
    return new Subscription(
      (stop) => joinLog(connections(plan, { reconnect: true, onConnected: () => readMemory(stop) }, stop)),
      signal,
    );
  }

  /**
   * Yields what changes in the files of a bucket, on any node. List the files at each `reset`: the first event is one, and changes may be
   * missing before others. A broken connection is made again, and goes on after the last event. The token needs
   * `StaticBucketFile::List` for the bucket.
   */
  watchBucket(name: string, options: WatchBucketOptions = {}): Subscription<BucketEvent> {
    const { prefix, signal } = options;
    const plan = (cursor: () => string | undefined): ConnectionPlan => ({
      ...this.#plan("static-bucket_watch", { name }, options, 1),
      params: async () =>
        this.#toCall(
          "static-bucket_watch",
          { name, prefix: prefix ?? null, cursor: cursor() ?? null },
          await this.#token(),
        ).params,
    });
    return new Subscription((stop) => followBucket(plan, options, stop), signal);
  }

  /**
   * Yields all rows of a query piece by piece, however many there are, as the database had them when the loop began. The query is a single
   * statement that returns rows. The loop ends its connection, and with that the cursor, also when it is left. The token needs `{"node": "exec_sql"}` in scope global.
   */
  async *readSql(
    query: ParamsOf<"sql_open">,
    { signal }: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<SqlRows & { readonly isLast: boolean }, void> {
    signal?.throwIfAborted();
    using calls = new SocketCalls({
      url: this.#address,
      Socket: this.#options.WebSocket ?? runtimeSocketClass(),
      connectTimeoutMs: this.#options.timeoutMs ?? connectTimeoutMs,
      integers: this.#integers,
    });
    const stop = () => calls[Symbol.dispose]();
    signal?.addEventListener("abort", stop);
    const call = async <M extends MethodName>(method: M, params: ParamsOf<M>) =>
      (await calls.call(this.#toCall(method, params, await this.#token()))) as ResultOf<M>;
    try {
      const { cursor, columns } = await call("sql_open", query);
      for (let isLast = false; !isLast; ) {
        const { data, done } = await call("sql_read", { cursor });
        isLast = done;
        yield { columns, data, isLast };
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** The files of a bucket. The token needs all four permissions there. */
  bucket(name: string): BucketFiles {
    return new BucketFiles({
      base: `${this.url}/node/static-webdav/${encodeURIComponent(name)}`,
      uploads: `${this.url}/node/static-upload/${encodeURIComponent(name)}`,
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
    { heartbeatMs = 30_000, buffer: maxBuffered = 10_000 }: Pick<SubscribeOptions, "heartbeatMs" | "buffer">,
    maxEventsPerPiece: number,
  ): ConnectionPlan {
    return {
      url: this.#address,
      Socket: this.#options.WebSocket ?? runtimeSocketClass(),
      method,
      params: async () => this.#toCall(method, params, await this.#token()).params,
      connectTimeoutMs: this.#options.timeoutMs ?? connectTimeoutMs,
      heartbeatMs,
      maxBuffered,
      maxEventsPerPiece,
      integers: this.#integers,
    };
  }

  #postOptions(options: CallOptions = {}): PostOptions {
    return { timeoutMs: this.#options.timeoutMs, ...options, integers: this.#integers };
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
    return { jsonrpc: "2.0", method, params: all, id: this.#nextId++ };
  }
}

/** In a page, an address may be relative to it. */
function parseUrl(text: string): string {
  const { location } = globalThis as { location?: { href: string } };
  const read = readServerUrl(text, location?.href);
  if ("url" in read) return read.url;
  throw new ClientError(
    read.problem === "credentials"
      ? `the address of ${read.host} contains credentials; give them as \`token\``
      : `"${hideCredentials(text)}" is not the address of a server; write it as https://host:port`,
  );
}
