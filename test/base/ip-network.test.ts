import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalIp, IpNetworks, parseIpNetwork } from "../../src/base/ip-networks.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::1", "::1"],
  ["2001:0DB8:0:0::0001", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:7f00:1", "127.0.0.1"],
])("%j is written %j", (text, canonical) => {
  expect(canonicalIp(text)).toBe(canonical);
});

test.each([
  "",
  "unknown",
  "1.2.3",
  "01.2.3.4",
  "1.2.3.4.5",
  "1::2::3",
  "[::1]",
  "1.2.3.4:80",
  "::1\n",
  "a.example",
])("%j is not an IP address", (text) => {
  expect(canonicalIp(text)).toBeUndefined();
});

test("every spelling of an IPv6 address is the same address", () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const canonical = canonicalIp(text);
      if (canonical !== undefined) expect(canonicalIp(canonical)).toBe(canonical);
      expect(canonicalIp(text.toUpperCase())).toBe(canonical);
    }),
  );
});

test("a network is an address with the length of its prefix, or an address alone", () => {
  expect(parseIpNetwork("10.0.0.0/8")).toEqual({ address: "10.0.0.0", prefix: 8 });
  expect(parseIpNetwork("10.1.2.3")).toEqual({ address: "10.1.2.3", prefix: 32 });
  expect(parseIpNetwork("2001:DB8::/32")).toEqual({ address: "2001:db8::", prefix: 32 });
  expect(parseIpNetwork("::ffff:10.0.0.1")).toEqual({ address: "10.0.0.1", prefix: 32 });
});

test.each([
  "10.0.0.0/33",
  "::/129",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "/8",
  "10.0.0.0/-1",
  "::ffff:10.0.0.0/104",
  "fe80::1%eth0",
  "localhost",
])("%j is not a network", (text) => {
  expect(parseIpNetwork(text)).toBeUndefined();
});

test("a set of networks includes the addresses of each, whatever bits follow its prefix", () => {
  const texts = ["10.1.2.3/8", "192.0.2.7", "2001:db8:1::/48", "::1"];
  const networks = new IpNetworks(texts.flatMap((text) => parseIpNetwork(text) ?? []));
  for (const inside of ["10.0.0.0", "10.255.255.255", "192.0.2.7", "2001:db8:1:ffff::1", "::1"])
    expect(networks.includes(inside)).toBe(true);
  for (const outside of ["11.0.0.0", "9.255.255.255", "192.0.2.8", "2001:db8:2::1", "::2", "127.0.0.1"])
    expect(networks.includes(outside)).toBe(false);
});

test("an IPv6 network contains no IPv4 address, in neither form", () => {
  const networks = new IpNetworks(["::/80", "::fffe:0:0/95"].flatMap((text) => parseIpNetwork(text) ?? []));
  for (const text of ["192.0.2.1", "::ffff:192.0.2.1"])
    expect(networks.includes(canonicalIp(text) ?? "")).toBe(false);
  expect(networks.includes("::1")).toBe(true);
});
