import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";
import { openFilesBelow } from "../support/open-files.ts";
import { until } from "../support/until.ts";

/** More than the server reads into memory or compresses whole. */
const largeText = "a line of text that is compressed while it is sent\n".repeat(80_000);
const largeBytes = "x".repeat(3_000_000);

if (process.platform === "linux")
  eachStore("however a request for a large file ends, the file is closed", async (store) => {
    await using node = await testNode(store);
    const site = await siteWith(node, { "large.txt": largeText, "large.bin": largeBytes });
    const url = `${node.url}/node/static/site`;
    const closed = async (file: string) => {
      const content = await site.stored.contentFile(file);
      await until(`${file} is closed`, () => openFilesBelow(content).length === 0);
    };
    const etag = (await fetch(`${url}/large.bin`, { method: "HEAD" })).headers.get("etag") ?? "";
    const gzip = { "accept-encoding": "gzip" };
    const gzipTag =
      (await fetch(`${url}/large.txt`, { method: "HEAD", headers: gzip })).headers.get("etag") ?? "";
    const requests: ReadonlyArray<readonly [file: string, status: number, init: RequestInit]> = [
      ["large.bin", 200, {}],
      ["large.bin", 200, { method: "HEAD" }],
      ["large.bin", 206, { headers: { range: "bytes=10-1999999" } }],
      ["large.bin", 206, { headers: { range: "bytes=0-9,20-2000000" } }],
      ["large.bin", 416, { headers: { range: "bytes=9000000-" } }],
      ["large.bin", 304, { headers: { "if-none-match": etag } }],
      ["large.bin", 412, { headers: { "if-match": '"other"' } }],
      ["large.txt", 200, { headers: gzip }],
      ["large.txt", 200, { method: "HEAD", headers: gzip }],
      ["large.txt", 304, { headers: { ...gzip, "if-none-match": gzipTag } }],
      ["large.txt", 412, { headers: { ...gzip, "if-match": '"other"' } }],
    ];
    for (const [file, status, init] of requests) {
      const response = await fetch(`${url}/${file}`, init);
      const { length } = await response.bytes();
      expect([init, response.status]).toEqual([init, status]);
      if (status === 200 && init.method !== "HEAD")
        expect(length).toBe(file === "large.bin" ? largeBytes.length : largeText.length);
      await closed(file);
    }
    for (const [file, headers] of [
      ["large.bin", {}],
      ["large.bin", { range: "bytes=0-9,20-2000000" }],
      ["large.txt", gzip],
    ] as const) {
      const response = await fetch(`${url}/${file}`, { headers });
      await response.body?.cancel();
      await closed(file);
    }
  });
