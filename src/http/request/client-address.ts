import { isIPv4, isIPv6 } from "node:net";
import type { Server } from "bun";
import { localAddress } from "../../base/address.ts";
import { canonicalIp, type IpNetwork, IpNetworks } from "../../base/ip-networks.ts";
import { plainText } from "../content/plain.ts";

/** A chain of more proxies than this is not followed, so that a long header costs little. */
const maxHops = 32;

/** ProxySettings say whose word about a client's address is taken. */
export interface ProxySettings {
  /** Networks of the proxies; `unix` for clients of the Unix socket. */
  readonly trusted: ReadonlyArray<IpNetwork | "unix">;
  /** The header that the proxies set. Another one may come from the client, so it is never read. */
  readonly header: ProxyHeader;
}

/** ClientAddresses finds the IP addresses of clients, also behind trusted proxies. */
export class ClientAddresses {
  #networks = new IpNetworks([]);
  #trustsUnix = false;
  #trustsAny = false;
  #header: ProxyHeader = "x-forwarded-for";

  apply({ trusted, header }: ProxySettings): void {
    this.#networks = new IpNetworks(trusted.filter((network) => network !== "unix"));
    this.#trustsUnix = trusted.includes("unix");
    this.#trustsAny = trusted.length > 0;
    this.#header = header;
  }

  /**
   * Returns the client's IP address. Call it when the request arrives: Bun forgets it when the client disconnects. Undefined: the
   * client has disconnected already. Its request must not be served, because a failed password could not be counted against an
   * address.
   */
  of(request: Request, server: Server<unknown>): string | undefined {
    const peer = peerOf(request, server);
    if (!this.#trustsAny || peer === undefined || !this.#trusts(peer)) return peer;
    const value = request.headers.get(this.#header);
    return value === null ? peer : (this.#clientIn(value) ?? peer);
  }

  /** Returns the id that a trusted proxy gave the request in `X-Request-Id`, if it is a plain one. */
  requestIdOf(request: Request, server: Server<unknown>): string | undefined {
    if (!this.#trustsAny) return undefined;
    const id = request.headers.get("x-request-id");
    if (id === null || !/^[\w.:-]{1,64}$/.test(id)) return undefined;
    const peer = peerOf(request, server);
    return peer !== undefined && this.#trusts(peer) ? id : undefined;
  }

  #trusts(address: string): boolean {
    return address === localAddress ? this.#trustsUnix : this.#networks.includes(address);
  }

  /** The nearest hop that is not a trusted proxy; the farthest if all are. Undefined if a hop before it cannot be read. */
  #clientIn(value: string): string | undefined {
    let hops = 0;
    let last: string | undefined;
    for (const address of hopsOf(this.#header, value)) {
      if (address === undefined || ++hops > maxHops) return undefined;
      if (!this.#trusts(address)) return address;
      last = address;
    }
    return last;
  }
}

function peerOf(request: Request, server: Server<unknown>): string | undefined {
  const address = server.requestIP(request)?.address;
  if (address === undefined) return server.port === undefined ? localAddress : undefined;
  // IPv4, the usual case, is canonical already.
  return address.includes(":") ? (canonicalIp(address) ?? address) : address;
}

/** clientLeft returns the response to a client that has disconnected; it is not sent. */
export function clientLeft(): Response {
  return plainText(400, "400 Bad Request: the client has disconnected.");
}

/** isDisconnection returns whether an error says that the client has disconnected: Bun rejects the reading of its body so. */
export function isDisconnection(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** `proxyHeaders` are the headers in which a proxy can name the client. */
const proxyHeaders = ["x-forwarded-for", "forwarded"] as const;
type ProxyHeader = (typeof proxyHeaders)[number];

/**
 * `hopsOf` yields the addresses of a proxy header from the right, so from the nearest hop to the farthest; undefined for an element
 * that names none. What lies left of the first untrusted hop was written by the client: it is not even parsed.
 */
function* hopsOf(header: ProxyHeader, value: string): Generator<string | undefined> {
  for (let end = value.length; end >= 0; ) {
    // A comma inside a quoted string leaves an unpaired quote on both sides, so neither is a valid element.
    const comma = end === 0 ? -1 : value.lastIndexOf(",", end - 1);
    const element = value.slice(comma + 1, end).trim();
    yield header === "forwarded" ? forIn(element) : addressIn(element);
    end = comma;
  }
}

/** An address, in brackets if it is IPv6, with or without a port: RFC 7239 §6. */
const node = /^(?:\[([^\]]+)\]|([\d.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/;

function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = node.exec(text) ?? [];
  if (bracketed !== undefined) return isIPv6(bracketed) ? canonicalIp(bracketed) : undefined;
  if (plain !== undefined) return isIPv4(plain) ? plain : undefined;
  return canonicalIp(text);
}

/** One parameter of an element of `Forwarded` (RFC 7239 §4). Unquoted addresses with a port are invalid there, but common. */
const parameter = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"\\]+))\s*(?:;|$)/y;

/** `forIn` returns the address of the only `for` parameter. */
function forIn(element: string): string | undefined {
  let found: string | undefined;
  for (parameter.lastIndex = 0; parameter.lastIndex < element.length; ) {
    const match = parameter.exec(element);
    if (match === null) return undefined;
    const [, name = "", quoted, plain = ""] = match;
    if (name.toLowerCase() !== "for") continue;
    if (found !== undefined) return undefined;
    found = quoted?.replace(/\\(.)/g, "$1") ?? plain;
  }
  return found === undefined ? undefined : addressIn(found);
}
