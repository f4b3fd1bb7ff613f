export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `parseAddress` reads `127.0.0.1:2211`, `[::1]:2211` or `localhost:2211`; undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.]+)?)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/** `formatAddress` writes `host:port` as in a URL, an IPv6 address in brackets. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Labels of letters, digits and hyphens, as in a certificate; a name, not an address. */
export const hostForm =
  /^(?=.{1,253}$)(?!\d+(?:\.\d+){3}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** `isHostName` returns whether a text is a host name in lower case, without a port and a dot at its end. */
export function isHostName(text: string): boolean {
  return hostForm.test(text);
}

/** `isLocalhost` returns whether a host name is `localhost` or below it, which is the machine of whoever asks (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/** The address of clients of the Unix socket, and of commands that work past the server. */
export const localAddress = "local";

/**
 * `networkOf` returns the key by which clients are grouped: an IPv4 address, or the /64 of an IPv6 address, because one subscriber has a
 * whole /64 to connect from.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const [head = "", tail = ""] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const missing = Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...missing, ...right].slice(0, 4).join(":");
}
