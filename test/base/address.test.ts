import { expect, test } from "bun:test";
import fc from "fast-check";
import { formatAddress, parseAddress } from "../../src/base/address.ts";

test("an address is a host and a port, IPv6 in brackets", () => {
  expect(parseAddress("127.0.0.1:2211")).toEqual({ host: "127.0.0.1", port: 2211 });
  expect(parseAddress("localhost:0")).toEqual({ host: "localhost", port: 0 });
  expect(parseAddress("my-host.example_1:65535")).toEqual({ host: "my-host.example_1", port: 65535 });
  expect(parseAddress("[::1]:2211")).toEqual({ host: "::1", port: 2211 });
  expect(parseAddress("[fe80::1%eth0]:80")).toEqual({ host: "fe80::1%eth0", port: 80 });
  expect(parseAddress("[::ffff:10.0.0.1]:80")).toEqual({ host: "::ffff:10.0.0.1", port: 80 });
});

test.each([
  "",
  "localhost",
  "localhost:",
  ":2211",
  "127.0.0.1:65536",
  "127.0.0.1:999999",
  "127.0.0.1:-1",
  "127.0.0.1:80a",
  "127.0.0.1: 80",
  " 127.0.0.1:80",
  "127.0.0.1:80\n",
  "::1:2211",
  "[]:80",
  "[::1]",
  "[::1:80",
  "http://127.0.0.1:80",
  "127.0.0.1:80/path",
  "user@host:80",
])("%j is no address", (text) => {
  expect(parseAddress(text)).toBeUndefined();
});

test("an address written out reads back as itself", () => {
  const host = fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((ip) => ip.includes(":")),
    fc.constantFrom("localhost", "a.example"),
  );
  fc.assert(
    fc.property(host, fc.integer({ min: 0, max: 65535 }), (host, port) => {
      expect(parseAddress(formatAddress({ host, port }))).toEqual({ host, port });
    }),
  );
});
