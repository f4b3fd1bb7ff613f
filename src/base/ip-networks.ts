import { BlockList, isIPv4, isIPv6 } from "node:net";

// A file of its own, because `node:net` takes long to load and the command line needs only addresses.

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
