import { ClientError } from "./errors.ts";

/** SocketLike is the part of a WebSocket that this client uses. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketClass = new (url: string) => SocketLike;

/** Returns the runtime's WebSocket class. Node has one since version 22; browsers and Bun always. */
export function runtimeSocketClass(): SocketClass {
  const { WebSocket } = globalThis as { WebSocket?: SocketClass };
  if (WebSocket !== undefined) return WebSocket;
  throw new ClientError(
    "subscriptions need a WebSocket, and this runtime has none: run this on Node 22 or later, or install the package `ws` and pass its class as the client's option `WebSocket`",
  );
}
