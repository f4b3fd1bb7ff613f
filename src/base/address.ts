import { BlockList, isIPv4, isIPv6 } from "node:net";

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

/** IpNetwork is a network: all addresses that share their first `prefix` bits with `address`. */
export interface IpNetwork {
  readonly address: string;
  readonly prefix: number;
}

/**
 * `canonicalIp` writes an IP address in its one spelling, without a zone; undefined if the text is not one. An IPv4 address in IPv6
 * form (`::ffff:192.0.2.1`), which a listener on `[::]` reports, is that IPv4 address.
 */
export function canonicalIp(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const [address = ""] = text.split("%", 1);
  // Null for rare spellings that `isIPv6` accepts, such as `0::0:0:0:0.0.0.0`.
  const canonical = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  if (canonical === undefined) return undefined;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  const bits = [high, low].map((group) => Number.parseInt(group, 16));
  return bits.flatMap((group) => [group >> 8, group & 255]).join(".");
}

/** `parseIpNetwork` reads `10.0.0.0/8`, `2001:db8::/32`, or an address alone; undefined for anything else. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [, given = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = canonicalIp(given);
  if (address === undefined || given.includes("%")) return undefined;
  const bits = isIPv4(address) ? 32 : 128;
  // The prefix of an IPv4 address in IPv6 form would count from another bit.
  if (length !== undefined && isIPv4(address) !== isIPv4(given)) return undefined;
  const prefix = Number(length ?? bits);
  return prefix > bits ? undefined : { address, prefix };
}

/** IpNetworks is a set of networks. An IPv6 network contains no IPv4 address. */
export class IpNetworks {
  /** A list for each family: `::/80` in a list that is asked for an IPv4 address contains all of them, as `::ffff:0:0/96`. */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  constructor(networks: readonly IpNetwork[]) {
    for (const { address, prefix } of networks) {
      const family = familyOf(address);
      this.#lists[family].addSubnet(address, prefix, family);
    }
  }

  /** Tells whether an address, in its canonical form, is in one of them. */
  includes(address: string): boolean {
    const family = familyOf(address);
    return this.#lists[family].check(address, family);
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}
