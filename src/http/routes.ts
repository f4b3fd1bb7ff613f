import type { Server } from "bun";
import { serveConsole } from "./console/console.ts";
import { methodNotAllowed, notFound, plainText } from "./content/plain.ts";
import { answerPost, cors, preflight } from "./jsonrpc/post.ts";
import type { RpcSocket } from "./jsonrpc/rpc-socket.ts";
import {
  isHandshake,
  openSocket,
  refuseHandshake,
  refuseTerminal,
  type SocketOptions,
  terminalNeedsUpgrade,
} from "./jsonrpc/websocket.ts";
import { addressOf, clientLeft } from "./request/client-address.ts";
import { handlerOf, methodsOf, type Route, RouteTable } from "./route-table.ts";
import { type BucketRouteOptions, serveRoot, serveStatic, staticPrefix } from "./static/serve.ts";
import { webdavPrefix } from "./webdav/dav-path.ts";
import { serveWebdav, type WebdavOptions } from "./webdav/handler.ts";
import { optionsHeaders } from "./webdav/verbs/options.ts";

/** HttpDeps is what the routes of all listeners share. */
export interface HttpDeps extends WebdavOptions, BucketRouteOptions, Omit<SocketOptions, "sockets"> {}

/** ListenerDeps is what the routes of one listener use. */
export interface ListenerDeps extends HttpDeps, SocketOptions {}

/**
 * idleSeconds is the time without progress after which the connection of a request is dropped. Bun restarts it for a response,
 * but not for a slow request body.
 */
export const idleSeconds = 30;

/** The request is answered by Bun itself (undefined) once it is upgraded to a WebSocket. */
type Answer = Response | undefined | Promise<Response>;

interface RoutedRequest {
  readonly request: Request;
  /** As in `request.url`: normalised, still percent-encoded. */
  readonly path: string;
  readonly server: Server<RpcSocket>;
  readonly deps: ListenerDeps;
}

type Handler = (routed: RoutedRequest) => Answer;

const post: Handler = ({ request, server, deps }) => answerPost(request, server, deps.jsonRpc);
const socket: Handler = ({ request, server, deps }) => openSocket(request, server, deps);
const root: Handler = ({ request, path, deps }) => serveRoot(request, path, deps);
const files: Handler = ({ request, path, deps }) => serveStatic(request, path, deps);
const webConsole: Handler = ({ request, path, deps }) => serveConsole(request, path, deps.console);
const webdav: Handler = ({ request, path, server, deps }) => {
  const address = addressOf(request, server);
  if (address === undefined) return clientLeft();
  const restartIdleTimer = () => server.timeout(request, idleSeconds);
  return serveWebdav({ request, rawPath: path, address, restartIdleTimer }, deps);
};
const jsonRpcOptions: Handler = () => preflight(Object.keys(jsonRpc));
const jsonRpc = { POST: post, OPTIONS: jsonRpcOptions };

/** Every address of the server. `/node/…` belongs to the server, whatever the bucket at the root contains. */
const routes = new RouteTable<Handler>([
  { path: "/jsonrpc", methods: jsonRpc, socket },
  { path: "/node/rpc", methods: jsonRpc, socket },
  // Also an address of JSON-RPC, because an existing dashboard strips the path of every server's address.
  { path: "/", methods: { GET: root, HEAD: root, POST: post, OPTIONS: rootOptions }, socket },
  { path: "/terminal", serve: terminalNeedsUpgrade, socket: refuseTerminal },
  { path: `${staticPrefix}*`, serve: files },
  { path: webdavPrefix, serve: webdav },
  { path: `${webdavPrefix}/*`, serve: webdav },
  { path: "/node/console", serve: webConsole },
  { path: "/node/console/*", serve: webConsole },
  { path: "/node", serve: notFound },
  { path: "/node/*", serve: notFound },
  { path: "*", serve: root },
]);

/** Router answers the requests of one listener. */
export class Router {
  readonly #deps: ListenerDeps;
  #lastHost: string | null = null;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
  }

  route(request: Request, server: Server<RpcSocket>): Answer {
    return this.#deps.static.cache.answer(request) ?? this.#dispatch(request, server);
  }

  #dispatch(request: Request, server: Server<RpcSocket>): Answer {
    const path = pathOf(request.url);
    if (path === undefined || !this.#isValidHost(request.headers.get("host")))
      return plainText(400, "400 Bad Request: invalid Host header.");
    const route = routes.find(path);
    if (route === undefined) return notFound();
    const routed = { request, path, server, deps: this.#deps };
    if (isHandshake(request)) return route.socket === undefined ? refuseHandshake() : route.socket(routed);
    const handler = handlerOf(route, request.method);
    return handler === undefined ? refuseMethod(route) : handler(routed);
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

function refuseMethod(route: Route<Handler>): Response {
  return methodNotAllowed(methodsOf(route), {
    alsoTakes: route.socket === undefined ? "" : ", and WebSocket handshakes",
    headers: cors,
  });
}

/** OPTIONS at `/` has two askers: the CORS preflight of a dashboard, and Windows, which asks here whether the server does WebDAV. */
function rootOptions(): Response {
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
