import { expect, test } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import { binaryName, parseTag, releaseAddress } from "../../src/update/release.ts";

test("every system that has releases has its binary's name", () => {
  const names: Record<string, string> = {
    "x86_64-unknown-linux-gnu": "node-server-linux-x86_64-gnu",
    "x86_64-unknown-linux-musl": "node-server-linux-x86_64-musl",
    "aarch64-unknown-linux-gnu": "node-server-linux-aarch64-gnu",
    "aarch64-unknown-linux-musl": "node-server-linux-aarch64-musl",
    "aarch64-apple-darwin": "node-server-macos-aarch64",
    "x86_64-apple-darwin": "node-server-macos-x86_64",
    "x86_64-pc-windows-msvc": "node-server-windows-x86_64.exe",
  };
  expect(Object.fromEntries(Object.keys(names).map((triple) => [triple, binaryName(triple)]))).toEqual(names);
});

test("a system without releases is told so", () => {
  for (const triple of ["source", "", "x86_64-unknown-freebsd", "x86_64"]) {
    const ask = () => binaryName(triple);
    expect(ask).toThrow(Fault);
    expect(ask).toThrow(`there are no releases for ${triple}`);
  }
});

test("a tag is v and three decimal numbers", () => {
  for (const text of ["v0.0.0", "v1.2.3", "v10.20.30", "v999999999.0.1"])
    expect(parseTag(text)).toEqual({ text, version: text.slice(1) });
});

test("anything else is no tag, and the field is named", () => {
  const wrong = [
    ...["", "v", "1.2.3", "V1.2.3", "v1", "v1.2", "v1.2.3.4", "v1.2.3-beta", "v1.2.3+1", "v1..3", "v1.2."],
    ...["v-1.2.3", "v1.2.x", "v1.2.3 ", " v1.2.3", "v1.2.3\n", "\nv1.2.3", "v1.2.3\nv1.2.3", "v1,2,3"],
    ...["v1.2.3/..", "../v1.2.3", "v1.2.3\0", "v1.2.3?x", "v1.2.3&tag=v2.0.0", "v１.２.３", "v0x1.2.3"],
    `v${"1".repeat(400)}.2.3`,
  ];
  const accepted = wrong.filter((text) => {
    try {
      return parseTag(text).text !== undefined;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      expect([error.kind, error.data, error.detail]).toEqual([
        "InvalidInput",
        { field: "tag" },
        "tag must read vX.Y.Z, such as v1.2.3",
      ]);
      return false;
    }
  });
  expect(accepted).toEqual([]);
});

test("a release is asked for below release_url, with its tag as the query", () => {
  const tag = parseTag("v1.2.3");
  const addresses = [
    ["https://example.org", "https://example.org/some-file?tag=v1.2.3"],
    ["https://example.org/", "https://example.org/some-file?tag=v1.2.3"],
    ["http://127.0.0.1:2212/a/b//", "http://127.0.0.1:2212/a/b/some-file?tag=v1.2.3"],
    ["https://[::1]:8443/r", "https://[::1]:8443/r/some-file?tag=v1.2.3"],
    ["https://example.org/r?key=a%26b", "https://example.org/r/some-file?key=a%26b&tag=v1.2.3"],
    ["https://example.org/r?tag=v9.9.9", "https://example.org/r/some-file?tag=v1.2.3"],
    ["https://user:word@example.org/a%20b", "https://user:word@example.org/a%20b/some-file?tag=v1.2.3"],
  ] as const;
  for (const [url, address] of addresses) expect(releaseAddress(url, "some-file", tag)).toBe(address);
});
