import type { Server } from "bun";
import { answerPost, answerPreflight, busy, type JsonRpcDoor, jsonRpcMethods } from "./jsonrpc.ts";
import { methodNotAllowed, notFound, placeholderPage, plainText } from "./pages.ts";
import { Connection } from "./socket.ts";

export interface Doors {
  readonly jsonRpc: JsonRpcDoor;
  /** The sockets that are open, for the way out. */
  readonly connections: Set<Connection>;
}

type Answer = Response | undefined | Promise<Response>;

/** Every address of the server. `/jsonrpc`, `/terminal` and `/node/…` belong to the server, whatever a bucket holds. */
export function route(request: Request, server: Server<Connection>, doors: Doors): Answer {
  const path = pathOf(request.url);
  if (path === "/jsonrpc") return jsonRpc(request, server, doors);
  if (path === "/terminal") return terminal(request);
  if (path === "/") return root(request);
  return notFound();
}

/** Route on the same normalised path that handlers read: the one in `request.url`. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

function jsonRpc(request: Request, server: Server<Connection>, doors: Doors): Answer {
  const address = () => server.requestIP(request)?.address ?? "local";
  switch (request.method) {
    case "POST":
      return answerPost(request, address, doors.jsonRpc);
    case "OPTIONS":
      return answerPreflight();
    case "GET":
      if (isUpgrade(request)) return upgrade(request, server, doors, address());
  }
  return methodNotAllowed(jsonRpcMethods);
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
  return plainText(400, "400 Bad Request: this is no WebSocket handshake.");
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

const rootMethods = "GET, HEAD, OPTIONS";

function root(request: Request): Response {
  if (request.method === "GET" || request.method === "HEAD") return placeholderPage();
  if (request.method === "OPTIONS")
    return new Response(null, { status: 204, headers: { allow: rootMethods } });
  return methodNotAllowed(rootMethods);
}
