import { expect, test } from "bun:test";
import { MemoryCache } from "../../src/http/static/memory-cache.ts";
import { siteWith } from "../support/bucket.ts";
import { testNode } from "../support/node.ts";

test("forty times more small files than the budget holds are all answered right", async () => {
  await using node = await testNode({ top: "static_cache_bytes = 1048576\n" });
  const content = (at: number) => `${at} `.padEnd(20 * 1024, String.fromCharCode(97 + (at % 26)));
  const files = Array.from({ length: 2048 }, (_, at) => [`${at}.txt`, content(at)]);
  const site = await siteWith(node, Object.fromEntries(files));
  await Bun.sleep(120);
  const wrong: number[] = [];
  for (const _ of [1, 2])
    for (let at = 0; at < files.length; at += 1)
      if ((await (await site.get(`/${at}.txt`)).text()) !== content(at)) wrong.push(at);
  expect(wrong).toEqual([]);
});

test("what is in memory stays within the budget, however much is asked for", () => {
  const budget = 1024 * 1024;
  const cache = new MemoryCache(() => budget);
  const bucket = { id: 1, name: "site", path: "site", is_http_root: false, cors: false, enable: true };
  const blob = new Blob(["x".repeat(20 * 1024)]);
  const body = { kind: "memory", blob } as const;
  const representation = { headers: {}, body, etag: '"1"', modifiedMs: 0 };
  const variant = { representation, blob, whole: {}, notModified: {}, dependencies: [] };
  const keys = Array.from({ length: 2048 }, (_, at) => `/${at}`);
  for (const key of keys) cache.add({ key, bucket, compressible: false }, "", variant);
  const held = keys.filter((key) => cache.find(key) !== undefined);
  expect(held.length * blob.size).toBeLessThanOrEqual(budget);
  expect(held.length * blob.size).toBeGreaterThan(budget / 2);
  expect(held.at(-1)).toBe("/2047");
});
