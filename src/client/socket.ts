import { NodeSocket } from "./node-socket.ts";

/** What this client uses of a WebSocket. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketClass = new (url: string) => SocketLike;

/** The runtime's own, where it has one: browsers, Bun, Node 22. Node 20 gets ours. */
export function socketClass(): SocketClass {
  return (globalThis as { WebSocket?: SocketClass }).WebSocket ?? NodeSocket;
}
