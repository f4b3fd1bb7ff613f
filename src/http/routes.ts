import type { Server } from "bun";
import type { Buckets } from "../buckets/buckets.ts";
import { type Console, isConsolePath, serveConsole } from "./console.ts";
import { answerPost, answerPreflight, busy, cors, type JsonRpcDoor, jsonRpcMethods } from "./jsonrpc.ts";
import { methodNotAllowed, notFound, placeholderPage, plainText } from "./pages.ts";
import { isRootWorker, refuseWorker } from "./service-worker.ts";
import { Connection } from "./socket.ts";
import { type StaticDoor, serveBucket, serveHot, staticMethods, toSlashForm, withCors } from "./static.ts";
import { webdavPrefix } from "./webdav/address.ts";
import { optionsHeaders, serveWebdav, type WebdavDoor } from "./webdav/handler.ts";

/** What all listeners share. */
export interface SharedDoors extends WebdavDoor, Omit<StaticDoor, "buckets"> {
  readonly jsonRpc: JsonRpcDoor;
  /** For a question that is answered at once, which needs no loan. */
  readonly buckets: () => Buckets;
  readonly console: Console;
}

export interface Doors extends SharedDoors {
  /** The sockets that are open on this listener, for the way out. */
  readonly connections: Set<Connection>;
}

type Answer = Response | undefined | Promise<Response>;

const staticPrefix = "/node/static/";

/** Every address of the server. `/jsonrpc`, `/terminal` and `/node/…` belong to the server, whatever a bucket holds. */
export function route(request: Request, server: Server<Connection>, doors: Doors): Answer {
  const path = pathOf(request.url);
  if (path === undefined || !isHost(request.headers.get("host")))
    return plainText(400, "400 Bad Request: the Host header names no host.");
  if (path === "/jsonrpc") return jsonRpc(request, server, doors);
  if (path.startsWith(staticPrefix))
    return fromMemory(request, path, doors) ?? bucketRoute(request, path, doors);
  if (path === "/terminal") return terminal(request);
  if (path === webdavPrefix || path.startsWith(`${webdavPrefix}/`))
    return serveWebdav(request, path, addressOf(request, server), doors);
  if (path === "/" && request.method === "OPTIONS")
    return new Response(null, { status: 204, headers: optionsHeaders });
  if (isConsolePath(path)) return serveConsole(request, path, doors.console);
  if (path === "/node" || path.startsWith("/node/")) return notFound();
  const refused = doors.console.isOn() && isRootWorker(request, path);
  return (refused ? undefined : fromMemory(request, path, doors)) ?? rootRoute(request, path, refused, doors);
}

/** At once, where the answer is in memory and still holds. */
function fromMemory(request: Request, path: string, { buckets, hot }: Doors): Response | undefined {
  return serveHot(request, path, buckets(), hot);
}

/** Route on the same normalised path that handlers read: the one in `request.url`. Without a Host header that is a path alone. */
function pathOf(url: string): string | undefined {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return undefined;
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

let lastHost: string | null = null;

/** Bun puts the Host header before the path, and one that holds a slash would move where the path begins. */
function isHost(host: string | null): boolean {
  // Nearly all requests name the same one.
  if (host === lastHost) return true;
  if (host !== null && !/^[\w.:[\]%-]*$/.test(host)) return false;
  lastHost = host;
  return true;
}

function jsonRpc(request: Request, server: Server<Connection>, doors: Doors): Answer {
  const address = addressOf(request, server);
  switch (request.method) {
    case "POST":
      return answerPost(request, address, doors.jsonRpc);
    case "OPTIONS":
      return answerPreflight();
    case "GET":
      if (isUpgrade(request)) return upgrade(request, server, doors, address());
  }
  return methodNotAllowed(jsonRpcMethods, cors);
}

function addressOf(request: Request, server: Server<Connection>): () => string {
  return () => server.requestIP(request)?.address ?? "local";
}

function upgrade(
  request: Request,
  server: Server<Connection>,
  { jsonRpc, connections }: Doors,
  address: string,
): Answer {
  const { slots, engine } = jsonRpc;
  if (!slots.take()) return busy();
  const connection = new Connection(engine, address, () => {
    slots.give();
    connections.delete(connection);
  });
  connections.add(connection);
  if (server.upgrade(request, { data: connection })) return undefined;
  connection.closed();
  return plainText(400, "400 Bad Request: this is no WebSocket handshake.", cors);
}

/** Reserved by the specification; the terminal itself is no part of this service. */
function terminal(request: Request): Response {
  if (isUpgrade(request)) return plainText(501, "501 Not Implemented: this server has no terminal.");
  return plainText(426, "426 Upgrade Required: this address is for WebSocket.", {
    upgrade: "websocket",
    connection: "Upgrade",
  });
}

function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** `{name}`, `{name}/` and `{name}/{path}` of a bucket. */
async function bucketRoute(
  request: Request,
  path: string,
  { borrow, hot, packing }: Doors,
): Promise<Response> {
  const rest = path.slice(staticPrefix.length);
  const slash = rest.indexOf("/");
  const name = slash === -1 ? rest : rest.slice(0, slash);
  const { services, release } = borrow();
  try {
    const bucket = await services.buckets.get(name);
    if (bucket === undefined || !bucket.enable)
      return request.method === "OPTIONS"
        ? options()
        : plainText(404, "404 Not Found: there is no such bucket.");
    if (slash === -1 && isReading(request)) return withCors(bucket, request, toSlashForm(request));
    return await serveBucket(
      { request, address: path, bucket, rest: rest.slice(slash + 1) },
      { buckets: services.buckets, hot, packing },
    );
  } finally {
    release();
  }
}

/** Whatever no other route owns: the bucket that is the HTTP root, else the placeholder page at `/`. */
async function rootRoute(
  request: Request,
  path: string,
  refused: boolean,
  { borrow, hot, packing, console }: Doors,
): Promise<Response> {
  const { services, release } = borrow();
  try {
    const bucket = await services.buckets.httpRoot();
    if (bucket !== undefined && refused) return refuseWorker();
    if (bucket !== undefined)
      return await serveBucket(
        { request, address: path, bucket, rest: path.slice(1) },
        { buckets: services.buckets, hot, packing },
      );
  } finally {
    release();
  }
  if (path !== "/") return notFound();
  if (isReading(request)) return placeholderPage(console.isOn());
  return request.method === "OPTIONS" ? options() : methodNotAllowed(staticMethods);
}

function options(): Response {
  return new Response(null, { status: 204, headers: { allow: staticMethods } });
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}
