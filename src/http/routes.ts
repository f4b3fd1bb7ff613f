import type { Server } from "bun";
import { isConsolePath, serveConsole } from "./console/console.ts";
import { notFound, plainText } from "./content/plain.ts";
import { answerPost, cors, preflight } from "./jsonrpc/post.ts";
import type { Connection } from "./jsonrpc/rpc-socket.ts";
import {
  isHandshake,
  openSocket,
  refuseHandshake,
  refuseTerminal,
  type SocketDoor,
  terminalNeedsUpgrade,
} from "./jsonrpc/websocket.ts";
import { addressOf, clientLeft } from "./request/client-address.ts";
import { type BucketDoor, serveRoot, serveStatic, staticPrefix } from "./static/bucket-routes.ts";
import { webdavPrefix } from "./webdav/dav-path.ts";
import { optionsHeaders, serveWebdav, type WebdavDoor } from "./webdav/handler.ts";

/** What all listeners share. */
export interface SharedDoors extends WebdavDoor, BucketDoor, Omit<SocketDoor, "connections"> {}

/** Seconds without progress before the connection of a request is dropped. Bun restarts them for an answer, but not for a slow body. */
export const idleSeconds = 30;

export interface Doors extends SharedDoors, SocketDoor {}

type Answer = Response | undefined | Promise<Response>;

/** A request on its way through the table. */
interface Incoming {
  readonly request: Request;
  /** As in `request.url`: normalised, still percent-encoded. */
  readonly path: string;
  readonly server: Server<Connection>;
  readonly doors: Doors;
}

type Handler = (incoming: Incoming) => Answer;

/** One address, or one family of them. */
interface Route {
  /** By HTTP method. Another method is answered with 405 and the names of these as `Allow`. */
  readonly methods?: Readonly<Record<string, Handler>>;
  /** Answers every HTTP method, in place of `methods`. */
  readonly any?: Handler;
  /** Answers the handshake of a WebSocket; without it the handshake is refused. */
  readonly socket?: Handler;
}

const jsonRpcPost: Handler = ({ request, server, doors }) => {
  const address = addressOf(request, server);
  return address === undefined ? clientLeft() : answerPost(request, address, doors.jsonRpc);
};
const jsonRpcSocket: Handler = ({ request, server, doors }) => openSocket(request, server, doors);
const root: Handler = ({ request, path, doors }) => serveRoot(request, path, doors);

const jsonRpc: Route = {
  methods: { POST: jsonRpcPost, OPTIONS: () => preflight(allowOf(jsonRpc)) },
  socket: jsonRpcSocket,
};

/**
 * `/` is an address of JSON-RPC too: an existing dashboard strips the path of every server address. Its OPTIONS answers two
 * askers at once, the preflight of such a dashboard and Windows, which asks here whether the server does WebDAV.
 */
const front: Route = {
  methods: { GET: root, HEAD: root, POST: jsonRpcPost, OPTIONS: () => frontOptions() },
  socket: jsonRpcSocket,
};

/** Addresses with a route of their own. */
const exact: ReadonlyMap<string, Route> = new Map([
  ["/jsonrpc", jsonRpc],
  ["/node/rpc", jsonRpc],
  ["/", front],
  ["/terminal", { any: terminalNeedsUpgrade, socket: refuseTerminal }],
  [webdavPrefix, { any: webdav }],
]);

/** Families of addresses, the first that owns a path first. `/node/…` belongs to the server, whatever a bucket holds. */
const families: ReadonlyArray<readonly [owns: (path: string) => boolean, route: Route]> = [
  [startsWith(staticPrefix), { any: ({ request, path, doors }) => serveStatic(request, path, doors) }],
  [startsWith(`${webdavPrefix}/`), { any: webdav }],
  [isConsolePath, { any: ({ request, path, doors }) => serveConsole(request, path, doors.console) }],
  [(path) => path === "/node" || path.startsWith("/node/"), { any: notFound }],
  [() => true, { any: root }],
];

/** Every address of the server. */
export function route(request: Request, server: Server<Connection>, doors: Doors): Answer {
  const path = pathOf(request.url);
  if (path === undefined || !isHost(request.headers.get("host")))
    return plainText(400, "400 Bad Request: the Host header names no host.");
  const found = exact.get(path) ?? familyOf(path);
  const incoming = { request, path, server, doors };
  if (isHandshake(request)) return found.socket === undefined ? refuseHandshake() : found.socket(incoming);
  const handler = found.any ?? methodOf(found, request.method);
  return handler === undefined ? refuseMethod(found) : handler(incoming);
}

function familyOf(path: string): Route {
  for (const [owns, family] of families) if (owns(path)) return family;
  return { any: notFound };
}

function methodOf({ methods = {} }: Route, method: string): Handler | undefined {
  return Object.hasOwn(methods, method) ? methods[method] : undefined;
}

function allowOf({ methods = {} }: Route): string {
  return Object.keys(methods).join(", ");
}

function refuseMethod(refused: Route): Response {
  const allow = allowOf(refused);
  const sockets = refused.socket === undefined ? "" : ", and WebSocket handshakes";
  return plainText(405, `405 Method Not Allowed: this address takes ${allow}${sockets}.`, { allow, ...cors });
}

function frontOptions(): Response {
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

function webdav({ request, path, server, doors }: Incoming): Response | Promise<Response> {
  const address = addressOf(request, server);
  if (address === undefined) return clientLeft();
  const restartIdleTimer = () => server.timeout(request, idleSeconds);
  return serveWebdav(request, path, { address, restartIdleTimer }, doors);
}

function startsWith(prefix: string): (path: string) => boolean {
  return (path) => path.startsWith(prefix);
}

/** Route on the same normalised path that handlers read: the one in `request.url`. Without a Host header that is a path alone. */
function pathOf(url: string): string | undefined {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return undefined;
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

let lastHost: string | null = null;

/**
 * Bun puts the Host header before the path: one that holds a slash would move where the path begins, and with one that is no host
 * (`a:b`, `localhost:99999`) handlers could not parse `request.url`. HTTP/1.0 has none, and then the address is a path alone.
 */
function isHost(host: string | null): boolean {
  // Nearly all requests name the same one.
  if (host === lastHost) return true;
  if (host !== null && host !== "" && !(/^[\w.:[\]%-]+$/.test(host) && URL.canParse(`http://${host}`)))
    return false;
  lastHost = host;
  return true;
}
