import { expect, test } from "bun:test";
import { plainOnly } from "../../src/http/content/compression.ts";
import { type CachedVariant, CacheEntries } from "../../src/http/static/memory-cache.ts";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";
import { scaled, tier } from "../support/tier.ts";

const bucket = {
  id: 1,
  name: "site",
  path: "site",
  is_http_root: false,
  cors: false,
  enable: true,
  public: true,
  hosts: [],
  clean_urls: false,
};

eachStore(
  scaled("many times more small files than the budget holds are all answered right"),
  async (store) => {
    await using node = await testNode({
      ...store,
      top: "static_cache_bytes = 1048576\nsync_uploads = false\n",
    });
    const content = (at: number) => `${at} `.padEnd(20 * 1024, String.fromCharCode(97 + (at % 26)));
    const files = Array.from({ length: tier === "fast" ? 150 : 400 }, (_, at) => [`${at}.txt`, content(at)]);
    const site = await siteWith(node, Object.fromEntries(files));
    await site.settled();
    const wrong: number[] = [];
    for (const _ of [1, 2])
      for (let at = 0; at < files.length; at += 1)
        if ((await (await site.get(`/${at}.txt`)).text()) !== content(at)) wrong.push(at);
    expect(wrong).toEqual([]);
  },
);

test("what is in memory stays within the budget, however much is asked for", () => {
  const budget = 1024 * 1024;
  const entries = new CacheEntries(() => budget);
  const keys = Array.from({ length: 2048 }, (_, at) => `/${at}`);
  for (const key of keys) entries.add({ key, bucket, compressible: false }, plainOnly, variantOf(20 * 1024));
  const held = keys.filter((key) => entries.byKey.has(key));
  expect(held.length * 20 * 1024).toBeLessThanOrEqual(budget);
  expect(held.length * 20 * 1024).toBeGreaterThan(budget / 2);
  expect(held.at(-1)).toBe("/2047");
});

test("a file that is requested again and again stays in memory while thousands of others pass through it", () => {
  const entries = new CacheEntries(() => 1024 * 1024);
  const add = (key: string) => entries.add({ key, bucket, compressible: false }, plainOnly, variantOf(1024));
  const often = ["/a", "/b", "/c"];
  for (const key of often) add(key);
  for (let at = 0; at < 5000; at += 1) {
    for (const key of often) {
      const entry = entries.byKey.get(key);
      if (entry !== undefined) entry.used = true;
    }
    add(`/${at}`);
  }
  expect(often.filter((key) => entries.byKey.has(key))).toEqual(often);
  expect(entries.byKey.size).toBeLessThanOrEqual(512);
  expect([entries.byKey.has("/4999"), entries.byKey.has("/4000")]).toEqual([true, false]);
});

test("a file has a bounded number of URLs in memory, they count in the budget, and they go with the file", () => {
  let budget = 1024 * 1024;
  const entries = new CacheEntries(() => budget);
  const keys = Array.from({ length: 16 }, (_, at) => `/${at}`);
  for (const key of keys) entries.add({ key, bucket, compressible: false }, plainOnly, variantOf(1024));
  const hosts = new Map<string, string>();
  const addUrls = (key: string, length: number) => {
    const entry = entries.byKey.get(key);
    if (entry === undefined) throw new Error(`${key} is not in memory`);
    for (let at = 0; at < 100; at += 1)
      entries.addUrl(`http://here${key}?${at}`.padEnd(length, "x"), {
        entry,
        host: "here",
        hosts,
        rootPath: undefined,
      });
  };
  for (const key of keys) addUrls(key, 32);
  expect([entries.byKey.size, entries.byUrl.size]).toEqual([16, 64]);
  expect([...entries.byUrl.keys()].filter((url) => url.startsWith("http://here/3?"))).toHaveLength(4);
  const entry = entries.byKey.get("/3");
  if (entry !== undefined) entries.remove(entry);
  expect([entries.byKey.size, entries.byUrl.size]).toEqual([15, 60]);
  addUrls("/4", 16_000);
  budget = 64 * 1024;
  addUrls("/4", 16_000);
  const urls = [...entries.byUrl.values()];
  expect(urls.every((known) => entries.byKey.get(known.entry.file.key) === known.entry)).toBe(true);
  expect([...entries.byUrl.keys()].reduce((sum, url) => sum + url.length * 2, 0)).toBeLessThanOrEqual(budget);
});

function variantOf(bytes: number): CachedVariant {
  const blob = new Blob(["x".repeat(bytes)]);
  return {
    representation: { headers: {}, body: { kind: "memory", blob }, etag: '"1"', modifiedMs: 0 },
    blob,
    dependencies: [],
    source: undefined,
    checkedIn: undefined,
    held: undefined,
    whole: undefined,
    head: undefined,
    notModified: undefined,
  };
}
