// Http answers every request of every listener. The Router of this file finds the route of an address (route-table.ts),
// and makes what the routes share. pipeline.ts is the way of every request but calls of JSON-RPC. listen/ accepts
// connections, request/ reads requests and bounds how many run (connection-limiter.ts), content/ sends content. Each
// protocol has its folder: jsonrpc/, static/, webdav/, links/, preview/, console/, s3/. resumable-uploads.ts is tus on
// the addresses of files, zip.ts makes archives while they are sent, health.ts answers programs that watch the server,
// access-log.ts writes a line for each request.

import type { Server } from "bun";
import type { AuditLog } from "../auth/audit-log.ts";
import { isHostName } from "../base/address.ts";
import { type Clock, httpDate } from "../base/clock.ts";
import { ContentBudget, MemoryBudget } from "../base/memory-budget.ts";
import { wholeNumber } from "../base/numbers.ts";
import type { Turns } from "../base/turns.ts";
import type { BucketCache } from "../buckets/bucket-cache.ts";
import type { ConsoleFiles } from "../bundle.ts";
import { linkPrefix } from "../links/link-code.ts";
import type { Logger } from "../log/hub.ts";
import type { Engine } from "../rpc/engine.ts";
import type { Lease } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import { Console, noConsole, serveConsole } from "./console/console.ts";
import { Compression } from "./content/compression.ts";
import { methodNotAllowed, notFound, plainText } from "./content/plain.ts";
import { type HealthOptions, metrics, serveHealth, serveReady } from "./health.ts";
import { answerPost, cors, misdirectedCall, preflight } from "./jsonrpc/post.ts";
import {
  isHandshake,
  openSocket,
  type RpcSocket,
  refuseHandshake,
  refuseTerminal,
  type SocketOptions,
  type SocketTraffic,
  terminalNeedsUpgrade,
} from "./jsonrpc/rpc-socket.ts";
import { signedLink } from "./links/serve.ts";
import { answerRequest, idleSeconds, type PipelineDeps, type Protocol } from "./pipeline.ts";
import { preview, previewOptions, previewPrefix } from "./preview/preview.ts";
import { ClientAddresses, clientLeft, isDisconnection } from "./request/client-address.ts";
import { ConnectionLimiter, Delays, UnsizedBodies } from "./request/connection-limiter.ts";
import { hostNameOf, isForS3, type S3Settings, ServerNames } from "./request/host-name.ts";
import { type ArrivedRequest, type HandlerName, RequestObservers } from "./request/request-observer.ts";
import { resumableUploads, uploadPrefix } from "./resumable-uploads.ts";
import { handlerOf, methodsOf, type Route, RouteTable } from "./route-table.ts";
import { s3 } from "./s3/s3.ts";
import { unknownHost } from "./static/address.ts";
import { serveRoot, serveStatic, staticPrefix } from "./static/bucket-routes.ts";
import { MemoryCache } from "./static/memory-cache.ts";
import type { StaticOptions } from "./static/serve.ts";
import { webdavPrefix } from "./webdav/dav-request.ts";
import { webdav } from "./webdav/handler.ts";
import { optionsHeaders } from "./webdav/verbs/index.ts";

/** HttpDeps is what the routes of all listeners share. */
export interface HttpDeps extends PipelineDeps, Omit<SocketOptions, "sockets"> {
  readonly observers: RequestObservers;
  readonly health: HealthOptions;
  /** The present records of buckets. */
  readonly records: () => BucketCache;
  readonly names: ServerNames;
  /** Whether the listener is for clients of S3 alone. */
  readonly isForS3?: boolean;
}

/** ListenerDeps is what the routes of one listener use. */
export interface ListenerDeps extends HttpDeps, SocketOptions {}

/** The request is answered by Bun itself (undefined) once it is upgraded to a WebSocket. */
type Answer = Response | undefined | Promise<Response | undefined>;

interface RoutedRequest {
  readonly request: Request;
  /** As in `request.url`: normalised, still percent-encoded. */
  readonly path: string;
  readonly server: Server<RpcSocket>;
  readonly deps: ListenerDeps;
}

interface Handler {
  readonly name: HandlerName;
  answer(routed: RoutedRequest): Answer;
  /**
   * Answers in its place at a name that is not the server's own. The origin of a host name of a bucket belongs to the pages of its
   * bucket: they can imitate a sign-in there, and their service workers see every request.
   */
  readonly elsewhere?: () => Response;
  /** Whether it answers at every name, also over TLS: programs that watch the server use the name of a machine. */
  readonly isEverywhere?: boolean;
}

const post: Handler = {
  name: "jsonrpc",
  answer: ({ request, server, deps }) => answerPost(request, server, deps.jsonRpc),
  elsewhere: misdirectedCall,
};
const socket: Handler = {
  name: "jsonrpc",
  answer: ({ request, server, deps }) => openSocket(request, server, deps),
  elsewhere: misdirectedCall,
};
const jsonRpcOptions: Handler = {
  name: "jsonrpc",
  answer: () => preflight(Object.keys(jsonRpc)),
  elsewhere: misdirectedCall,
};
const root: Handler = {
  name: "static",
  answer: (routed) => serveRoot(routed, routed.deps),
};
const rootOptions: Handler = { name: "other", answer: answerRootOptions };
const files: Handler = {
  name: "static",
  answer: (routed) => serveStatic(routed, routed.deps),
};
const webConsole: Handler = {
  name: "console",
  answer: ({ request, path, deps }) => serveConsole(request, path, deps.console),
  elsewhere: noConsole,
};
/** by answers through the pipeline. */
const by = <Who, Target>(protocol: Protocol<Who, Target>): Handler => ({
  name: protocol.name,
  answer: (routed) => answerRequest(protocol, routed, routed.deps),
});
const health: Handler = {
  name: "health",
  answer: ({ deps }) => serveHealth(deps.health),
  isEverywhere: true,
};
const ready: Handler = { name: "health", answer: ({ deps }) => serveReady(deps.health), isEverywhere: true };
const metricsText: Handler = { ...by(metrics), isEverywhere: true };
const terminal: Handler = { name: "other", answer: terminalNeedsUpgrade };
const terminalSocket: Handler = { name: "other", answer: refuseTerminal };
const s3Operations: Handler = by(s3);
const nothing: Handler = { name: "other", answer: notFound };
/** WebDAV clients walk down from here, or ask here what the server can do; browsers find nothing. */
const aboveBuckets: Handler = {
  name: "webdav",
  answer: (routed) =>
    ["OPTIONS", "PROPFIND", "MKCOL"].includes(routed.request.method)
      ? answerRequest(webdav, routed, routed.deps)
      : notFound(),
};
const jsonRpc = { POST: post, OPTIONS: jsonRpcOptions };

/** Every address of the server. `/node/…` belongs to the server, whatever the bucket at the root contains. */
const routes = new RouteTable<Handler>([
  { path: "/jsonrpc", methods: jsonRpc, socket },
  { path: "/node/rpc", methods: jsonRpc, socket },
  // Also an address of JSON-RPC, because an existing dashboard strips the path of every server's address.
  { path: "/", methods: { GET: root, HEAD: root, POST: post, OPTIONS: rootOptions }, socket },
  { path: "/terminal", serve: terminal, socket: terminalSocket },
  { path: `${staticPrefix}*`, serve: files },
  { path: `${previewPrefix}*`, serve: by(preview) },
  { path: webdavPrefix, serve: by(webdav) },
  { path: `${webdavPrefix}/*`, serve: by(webdav) },
  { path: `${uploadPrefix}/*`, serve: by(resumableUploads) },
  { path: `${linkPrefix}*`, serve: by(signedLink) },
  { path: "/node/console", serve: webConsole },
  { path: "/node/console/*", serve: webConsole },
  { path: "/node/health", methods: { GET: health, HEAD: health } },
  { path: "/node/ready", methods: { GET: ready, HEAD: ready } },
  { path: "/node/metrics", methods: { GET: metricsText, HEAD: metricsText } },
  { path: "/node", serve: aboveBuckets },
  { path: "/node/", serve: aboveBuckets },
  { path: "/node/*", serve: nothing },
  { path: "*", serve: root },
]);

/** countedAs returns the part that a request counts for. The console names its own calls, which come as long as somebody looks at it. */
function countedAs({ name }: Handler, { headers }: Request): HandlerName {
  const isCall = name === "jsonrpc" || name === "health";
  return isCall && headers.has("node-server-console") ? "console" : name;
}

/** Router answers the requests of one listener. */
export class Router {
  readonly #deps: ListenerDeps;
  readonly #toErrorResponse: (error: unknown) => Response;
  readonly #answerAll: ((request: Request) => Promise<Response>) | undefined;
  #lastHost: string | null = null;
  /** The handler that `#dispatch` has called last. */
  #handler: HandlerName = "static";

  /** `toErrorResponse` answers for a handler that failed. With `answerAll`, the listener has no routes. */
  constructor(
    deps: ListenerDeps,
    toErrorResponse: (error: unknown) => Response,
    answerAll?: (request: Request) => Promise<Response>,
  ) {
    this.#deps = deps;
    this.#toErrorResponse = toErrorResponse;
    this.#answerAll = answerAll;
  }

  route(request: Request, server: Server<RpcSocket>): Answer {
    const startedAt = performance.now();
    const { observers } = this.#deps;
    observers.started(request, server);
    const answer = this.#answer(request, server);
    const arrived = { request, server, handler: this.#handler, startedAt };
    if (answer instanceof Promise) return this.#ended(answer, arrived);
    if (answer !== undefined) this.#complete(request, answer);
    observers.ended(arrived, answer);
    return answer;
  }

  #ended(answer: Promise<Response | undefined>, arrived: ArrivedRequest): Promise<Response | undefined> {
    const ended = (response: Response | undefined) => {
      if (response !== undefined) this.#complete(arrived.request, response);
      this.#deps.observers.ended(arrived, response);
      return response;
    };
    return answer.then(ended, (error: unknown) =>
      ended(isDisconnection(error) ? clientLeft() : this.#toErrorResponse(error)),
    );
  }

  /** Adds to a response what Bun leaves out, and what concerns the whole host. */
  #complete(request: Request, response: Response): void {
    const { method, headers } = request;
    // Bun closes such a connection and does not say so: Node's client would send its next request into it. RFC 9112 §9.6.
    if (asksToClose(headers) && !asksToClose(response.headers))
      response.headers.append("connection", "close");
    const hsts = this.#deps.names.hstsFor(request);
    if (hsts !== undefined) response.headers.set("strict-transport-security", hsts);
    if (method === "HEAD") response.headers.set("date", httpDate(this.#deps.clock.now()));
  }

  #answer(request: Request, server: Server<RpcSocket>): Answer {
    try {
      this.#handler = "other";
      if (hasInvalidLength(request)) return invalidLength();
      if (this.#answerAll !== undefined) return this.#answerAll(request);
      if (this.#deps.isForS3 || isForS3(request, this.#deps.s3()))
        return this.#dispatchTo(s3Operations, request, server);
      if (request.method === "GET") {
        this.#handler = "static";
        const { cache } = this.#deps.static;
        const known = cache.answer(request, cache.find(request), "tick");
        if (known !== undefined) return known;
      }
      return this.#dispatch(request, server);
    } catch (error) {
      return this.#toErrorResponse(error);
    }
  }

  /** At an address of S3, every path is one of S3. */
  #dispatchTo(handler: Handler, request: Request, server: Server<RpcSocket>): Answer {
    const path = this.#pathOf(request);
    if (path === undefined) return invalidHost();
    this.#handler = handler.name;
    return handler.answer({ request, path, server, deps: this.#deps });
  }

  #pathOf({ url, headers }: Request): string | undefined {
    return this.#isValidHost(headers.get("host")) ? pathOf(url) : undefined;
  }

  #dispatch(request: Request, server: Server<RpcSocket>): Answer {
    this.#handler = "other";
    const path = this.#pathOf(request);
    if (path === undefined) return invalidHost();
    const route = routes.find(path);
    if (route === undefined) return notFound();
    const routed = { request, path, server, deps: this.#deps };
    const isSocket = request.method === "GET" && isHandshake(request);
    const handler = isSocket ? route.socket : handlerOf(route, request.method);
    if (handler === undefined) return isSocket ? refuseHandshake() : refuseMethod(route);
    this.#handler = countedAs(handler, request);
    if (handler.elsewhere === undefined) {
      return this.#mayBeUnknown(request, handler)
        ? this.#answerAtBucketHost(handler, routed)
        : handler.answer(routed);
    }
    const host = hostNameOf(request);
    if (!this.#deps.names.include(host)) return handler.elsewhere();
    return isHostName(host) ? this.#answerUnlessOwned(handler, host, routed) : handler.answer(routed);
  }

  /** Whether the name of a request is one that the server has no certificate for, unless a bucket has the name. */
  #mayBeUnknown(request: Request, { isEverywhere }: Handler): boolean {
    const { names } = this.#deps;
    return (
      names.areConfigured &&
      isEverywhere !== true &&
      request.url.startsWith("https:") &&
      !names.include(hostNameOf(request))
    );
  }

  async #answerAtBucketHost(handler: Handler, routed: RoutedRequest): Promise<Response | undefined> {
    const owner = await this.#deps.records().ownerOrStale(hostNameOf(routed.request));
    return owner === undefined ? unknownHost() : handler.answer(routed);
  }

  async #answerUnlessOwned(
    handler: Handler,
    host: string,
    routed: RoutedRequest,
  ): Promise<Response | undefined> {
    const owner = await this.#deps.records().ownerOrStale(host);
    return owner === undefined ? handler.answer(routed) : handler.elsewhere?.();
  }

  /**
   * Bun puts the Host header before the path: a host with a slash would move where the path begins, and with an invalid one
   * (`a:b`, `localhost:99999`) handlers could not parse `request.url`. HTTP/1.0 has none, and then the URL is a path alone.
   * The last valid host is remembered, because nearly all requests have the same one.
   */
  #isValidHost(host: string | null): boolean {
    if (host === this.#lastHost) return true;
    if (host !== null && host !== "" && !(/^[\w.:[\]%-]+$/.test(host) && URL.canParse(`http://${host}`)))
      return false;
    this.#lastHost = host;
    return true;
  }
}

/** asksToClose returns whether the connection ends after the message with these headers. */
function asksToClose(headers: Headers): boolean {
  const connection = headers.get("connection");
  return connection !== null && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection);
}

/** Bun takes two equal Content-Length headers and joins their values. RFC 9112 §6.3 has them refused. */
function hasInvalidLength({ headers }: Request): boolean {
  const length = headers.get("content-length");
  return length !== null && wholeNumber(length) === undefined;
}

function invalidHost(): Response {
  return plainText(400, "400 Bad Request: invalid Host header.");
}

function invalidLength(): Response {
  return plainText(400, "400 Bad Request: the Content-Length header must be one number.", {
    connection: "close",
  });
}

function refuseMethod(route: Route<Handler>): Response {
  return methodNotAllowed(methodsOf(route), {
    alsoTakes: route.socket === undefined ? "" : ", and WebSocket handshakes",
    headers: cors,
  });
}

/** OPTIONS at `/` has two askers: the CORS preflight of a dashboard, and Windows, which asks here whether the server does WebDAV. */
function answerRootOptions(): Response {
  const allow = `${optionsHeaders.allow}, POST`;
  return new Response(null, {
    status: 204,
    headers: {
      ...optionsHeaders,
      allow,
      "access-control-allow-methods": allow,
      "access-control-allow-headers": `*, ${optionsHeaders["access-control-allow-headers"]}`,
    },
  });
}

/** The path of `request.url`, which handlers read too. Without a Host header the URL is a path alone. */
function pathOf(url: string): string | undefined {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return undefined;
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

/** HttpLimits are the configured bounds of what clients of HTTP may use. */
interface HttpLimits {
  readonly maxConnections: number;
  readonly maxRequestBytes: number;
  readonly clientBytes: number;
  readonly maxCacheBytes: number;
  readonly maxUploadBytes: number;
  readonly console: boolean;
}

interface HttpOptions {
  /** The present limits; a reload changes them. */
  readonly limits: () => HttpLimits;
  /** Where the server speaks S3 at present. */
  readonly s3: () => S3Settings;
  readonly engine: Engine<Services>;
  readonly acquire: () => Lease<Services>;
  /** The present records of buckets. */
  readonly records: () => BucketCache;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly traffic: SocketTraffic;
  readonly health: HealthOptions;
  readonly loadConsole: () => Promise<ConsoleFiles>;
  readonly log: Logger;
}

/** newHttpDeps makes what the routes of all listeners share. */
export function newHttpDeps({ limits, records, loadConsole, log, ...shared }: HttpOptions): HttpDeps {
  const contentBudget = new ContentBudget(idleSeconds * 1000, shared.clock);
  const memory = new MemoryBudget(() => limits().clientBytes);
  const addresses = new ClientAddresses();
  const staticOptions: StaticOptions = {
    cache: new MemoryCache({ maxBytes: () => limits().maxCacheBytes, records }),
    compression: new Compression(contentBudget),
    contentBudget,
  };
  return {
    ...shared,
    records,
    addresses,
    names: new ServerNames(),
    observers: new RequestObservers(),
    jsonRpc: {
      engine: shared.engine,
      addresses,
      connections: new ConnectionLimiter(() => limits().maxConnections),
      memory,
      unsizedBodies: new UnsizedBodies(1),
      delays: new Delays(1000, shared.clock),
      maxRequestBytes: () => limits().maxRequestBytes,
    },
    memory,
    unsizedBodies: new UnsizedBodies(4),
    // Bun buffers up to a megabyte of the body of each.
    delays: new Delays(64, shared.clock),
    static: staticOptions,
    preview: previewOptions(staticOptions, records),
    maxUploadBytes: () => limits().maxUploadBytes,
    console: new Console({ isOn: () => limits().console, load: loadConsole, log, clock: shared.clock }),
  };
}
