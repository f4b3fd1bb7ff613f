import type { Server } from "bun";
import type { Turns } from "../../base/turns.ts";
import { plainText } from "../content/plain.ts";
import { addressOf, clientLeft } from "../request/client-address.ts";
import { busy, cors, type JsonRpcDoor } from "./post.ts";
import { Connection } from "./rpc-socket.ts";

/** The addresses that accept WebSockets, for people. */
const socketAddresses = "/jsonrpc, /node/rpc or /";

export interface SocketDoor {
  readonly jsonRpc: JsonRpcDoor;
  readonly turns: Turns;
  /** The sockets that are open on this listener, for the way out. */
  readonly connections: Set<Connection>;
}

/** Whether a request is the opening handshake of a WebSocket (RFC 6455 §4.1), complete or not. */
export function isHandshake({ method, headers }: Request): boolean {
  return method === "GET" && headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Upgrades the connection to a WebSocket for JSON-RPC; undefined when Bun has taken it over. */
export function openSocket(
  request: Request,
  server: Server<Connection>,
  { jsonRpc, turns, connections }: SocketDoor,
): Response | undefined {
  const { slots, engine, memory } = jsonRpc;
  const address = addressOf(request, server);
  if (address === undefined) return clientLeft();
  if (!slots.take()) return busy();
  const connection = new Connection({
    engine,
    memory,
    turns,
    address,
    gone: () => {
      slots.give();
      connections.delete(connection);
    },
  });
  connections.add(connection);
  if (server.upgrade(request, { data: connection })) return undefined;
  connection.closed();
  return plainText(400, "400 Bad Request: this is no WebSocket handshake.", cors);
}

/** The answer to a handshake where no WebSocket is served: a page with status 200 would help no client. */
export function refuseHandshake(): Response {
  return plainText(
    400,
    `400 Bad Request: no WebSocket is served at this address; open it at ${socketAddresses}.`,
    cors,
  );
}

/** `/terminal` is reserved by the specification; the terminal itself is no part of this service. */
export function refuseTerminal(): Response {
  return plainText(501, "501 Not Implemented: this server has no terminal.");
}

export function terminalNeedsUpgrade(): Response {
  return plainText(426, "426 Upgrade Required: this address is for WebSocket.", {
    upgrade: "websocket",
    connection: "Upgrade",
  });
}
