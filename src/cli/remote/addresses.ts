import { accessSync, constants, statSync } from "node:fs";
import { codeOf } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import type { Fetch, SocketClass } from "../../client/index.ts";
import type { Context } from "../context.ts";

const scheme = "unix:";
const clientScheme = "http+unix://";

/** Whether an address is that of a Unix socket: `unix:/path/node.sock`. */
export function isUnixAddress(text: string): boolean {
  return text.startsWith(scheme);
}

/** Writes an address with the whole path: it is kept, and used in other folders. */
export function toUnixAddress(ctx: Context, text: string): string {
  return scheme + ctx.path(pathOf(text));
}

function pathOf(address: string): string {
  return address.slice(scheme.length).replace(/^\/\/+/, "/");
}

/** Returns the URL that stands for a Unix socket in the client: its paths are those of the server. */
export function unixClientUrl(address: string): string {
  return clientScheme + encodeURIComponent(pathOf(address));
}

/** `unixFetch` sends requests for a URL of `unixClientUrl` through the socket. */
export const unixFetch: Fetch = (url, init) => {
  const { socket, path } = split(url, clientScheme);
  return fetch(`http://localhost${path}`, { ...init, unix: socket } as BunFetchRequestInit);
};

/** UnixWebSocket opens a WebSocket through the socket. */
export const UnixWebSocket: SocketClass = class extends WebSocket {
  constructor(url: string) {
    const { socket, path } = split(url, clientScheme.replace("http", "ws"));
    super(`ws+unix://${socket}:${path}`);
  }
};

function split(url: string, begin: string): { readonly socket: string; readonly path: string } {
  const slash = url.indexOf("/", begin.length);
  const end = slash === -1 ? url.length : slash;
  return { socket: decodeURIComponent(url.slice(begin.length, end)), path: url.slice(end) || "/" };
}

/** Returns the address that browsers use, as far as a client of this URL can know it: through a Unix socket it is the path alone. */
export function webAddress(clientUrl: string, path: string): string {
  return clientUrl.startsWith(clientScheme) ? visible(path) : clientUrl + visible(path);
}

/** Says why nothing answers at a Unix socket. */
export function whyNoUnixAnswer(address: string): string {
  const path = pathOf(address);
  try {
    if (!statSync(path).isSocket()) return "it is not a socket; name the server's unix_socket_path";
    accessSync(path, constants.W_OK);
    return "no server answers there";
  } catch (error) {
    switch (codeOf(error)) {
      case "EACCES":
        return "this user may not connect; unix_socket_group of the server says who may";
      default:
        return "there is no such socket; set enable_unix_socket = true in the server's configuration, and name its unix_socket_path here";
    }
  }
}

/** `isLoopback` returns whether a host name of a URL leads to the machine of the caller. A wildcard address does so, too. */
export function isLoopback(hostname: string): boolean {
  return (
    /^(.+\.)?localhost\.?$/.test(hostname) ||
    /^(127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:(7f[0-9a-f]{2}:[0-9a-f]+|0:0)\])$/.test(hostname)
  );
}
