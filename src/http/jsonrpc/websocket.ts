import type { Server } from "bun";
import type { Clock } from "../../base/clock.ts";
import type { Turns } from "../../base/turns.ts";
import { plainText } from "../content/plain.ts";
import { clientLeft } from "../request/client-address.ts";
import { busy, cors, type JsonRpcOptions } from "./post.ts";
import { RpcSocket } from "./rpc-socket.ts";
import type { SocketTraffic } from "./socket-traffic.ts";

/** The addresses that accept WebSockets, for people. */
const socketAddresses = "/jsonrpc, /node/rpc or /";

export interface SocketOptions {
  readonly jsonRpc: JsonRpcOptions;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly traffic: SocketTraffic;
  /** The sockets that are open on this listener; it closes them when it closes. */
  readonly sockets: Set<RpcSocket>;
}

/** isHandshake tells whether a request is the opening handshake of a WebSocket (RFC 6455 §4.1), complete or not. */
export function isHandshake({ method, headers }: Request): boolean {
  return method === "GET" && headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** openSocket upgrades the connection to a WebSocket for JSON-RPC; undefined when Bun has taken it over. */
export function openSocket(
  request: Request,
  server: Server<RpcSocket>,
  { jsonRpc, turns, clock, traffic, sockets }: SocketOptions,
): Response | undefined {
  const { addresses, connections, engine, memory } = jsonRpc;
  const address = addresses.of(request, server);
  if (address === undefined) return clientLeft();
  const permit = connections.tryAcquire();
  if (permit === undefined) return busy();
  const socket = new RpcSocket({
    engine,
    memory,
    turns,
    clock,
    traffic,
    address,
    onClosed: () => {
      permit.release();
      sockets.delete(socket);
    },
  });
  sockets.add(socket);
  if (server.upgrade(request, { data: socket })) return undefined;
  socket.closed();
  return plainText(400, "400 Bad Request: invalid WebSocket handshake.", cors);
}

/** refuseHandshake answers a handshake at another address: a page with status 200 would help no client. */
export function refuseHandshake(): Response {
  return plainText(
    400,
    `400 Bad Request: no WebSocket is served at this address; open it at ${socketAddresses}.`,
    cors,
  );
}

/** refuseTerminal answers at `/terminal`, which the specification reserves; this server has no terminal. */
export function refuseTerminal(): Response {
  return plainText(501, "501 Not Implemented: this server has no terminal.");
}

export function terminalNeedsUpgrade(): Response {
  return plainText(426, "426 Upgrade Required: this address is for WebSocket.", {
    upgrade: "websocket",
    connection: "Upgrade",
  });
}
