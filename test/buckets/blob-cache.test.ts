import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fault } from "../../src/base/fault.ts";
import { BlobMissingFault, type ByteRange, type StoredBlob } from "../../src/blobs/blob-store.ts";
import { BlobCache } from "../../src/blobs/cache.ts";
import { bodyOf } from "../../src/blobs/content.ts";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { LogRing } from "../../src/log/ring.ts";
import { never, sha256 } from "../support/blob-stores.ts";
import { tempFolder } from "../support/node.ts";
import { randomBytes } from "../support/tools.ts";
import { until } from "../support/until.ts";

const kib = 1024;
const mib = 1024 * kib;

/** A real store that counts what is asked of it. */
class CountedBlobs extends FolderBlobs {
  /** Reads of more than one byte. */
  reads = 0;

  override get(key: string, range: ByteRange | undefined, signal: AbortSignal) {
    if (range === undefined || range.end > range.start) this.reads += 1;
    return super.get(key, range, signal);
  }
}

async function cachedStore(maxBytes = 64 * mib) {
  const folder = await tempFolder();
  const [root, path] = [join(folder.path, "store"), join(folder.path, "cache")];
  mkdirSync(root);
  const store = new CountedBlobs(root, { sync: false });
  await store.check(never);
  store.reads = 0;
  const hub = new LogHub();
  const ring = new LogRing(100, parseFilter("info"));
  hub.attach(ring);
  const openCache = (bytes = maxBytes) =>
    new BlobCache({ store, path, maxBytes: bytes, log: hub.logger("cache") });
  return {
    store,
    root,
    path,
    openCache,
    cache: openCache(),
    put: (size: number) => store.put(randomBytes(size), { path: "site/file" }, never),
    events: () => ring.entries().map(({ level, fields }) => [level, fields.event]),
    unfinished: () => readdirSync(join(path, "unfinished")),
    /** The folder is made in the background. */
    nothingUnfinished: () =>
      until(
        "nothing is left of it",
        () => existsSync(join(path, "unfinished")) && readdirSync(join(path, "unfinished")).length === 0,
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** What an HTTP server sends of a blob: only there a body may be used. */
async function sent(cache: BlobCache, blob: StoredBlob, range?: ByteRange): Promise<Uint8Array> {
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => new Response(bodyOf(await cache.open(blob), range)),
  });
  return await (await fetch(server.url)).bytes();
}

/** Reads a blob as a response sends it, and proves its content. */
async function read(cache: BlobCache, blob: StoredBlob): Promise<void> {
  const body = await sent(cache, blob);
  expect([body.length, sha256(body)]).toEqual([blob.size, blob.sha256]);
}

const untilCached = (cache: BlobCache, { key }: StoredBlob) => until("it is cached", () => cache.has(key));

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => Promise.reject(new Error("it did not fail")),
    (error) => error as Fault,
  );

for (const size of [1, 4 * kib, 256 * kib, 256 * kib + 1, 5 * mib])
  test(`a blob of ${size} bytes is fetched once for all who wait for it, and then sent from the disk`, async () => {
    await using cached = await cachedStore();
    const { cache, store } = cached;
    const blob = await cached.put(size);
    expect(cache.has(blob.key)).toBe(false);
    expect(cache.hold(blob)).toBeUndefined();
    await Promise.all(Array.from({ length: 30 }, () => read(cache, blob)));
    await untilCached(cache, blob);
    const { reads } = store;
    if (size > 1) expect(reads).toBe(1);
    await read(cache, blob);
    const held = cache.hold(blob);
    expect(sha256((await held?.blob.bytes()) ?? "")).toBe(blob.sha256);
    held?.close();
    expect(store.reads).toBe(reads);
    expect(cached.unfinished()).toEqual([]);
  });

test("content that was opened before its blob was cached is read from the disk afterwards", async () => {
  await using cached = await cachedStore();
  const { cache, store } = cached;
  const blob = await cached.put(256 * kib + 1);
  await using first = await cache.open(blob);
  await using late = await cache.open(blob);
  await first.bytes();
  await untilCached(cache, blob);
  const { reads } = store;
  expect([sha256(await late.bytes()), store.reads]).toEqual([blob.sha256, reads]);
});

test("a blob that arrives before the folder of the cache is created is cached", async () => {
  await using cached = await cachedStore();
  const { store, root, path } = cached;
  const blob = await cached.put(4 * kib);
  const bytes = readFileSync(join(root, "blobs", blob.key.slice(-2), blob.key));
  store.get = async () => new Blob([bytes]).stream();
  await cached.cache.ready;
  rmSync(path, { recursive: true });
  const cache = cached.openCache();
  await cache.open(blob);
  await untilCached(cache, blob);
  expect(cached.events()).toEqual([]);
});

test("a short blob is not fetched again while it is written to the disk", async () => {
  await using cached = await cachedStore();
  const { cache, store } = cached;
  const blob = await cached.put(4 * kib);
  for (let times = 0; times < 3; times += 1) await cache.open(blob);
  expect([cache.has(blob.key), store.reads]).toEqual([false, 1]);
  await untilCached(cache, blob);
});

test("bytes and parts of a blob are the same with and without the cache", async () => {
  await using cached = await cachedStore();
  for (const size of [100, 3 * mib]) {
    const blob = await cached.put(size);
    const whole = readFileSync(join(cached.root, "blobs", blob.key.slice(-2), blob.key));
    for (const isCached of [false, true]) {
      expect(cached.cache.has(blob.key)).toBe(isCached);
      const range = { start: size - 90, end: size - 11 };
      await using first = await cached.cache.open(blob);
      expect(whole.subarray(-90, -10).equals(Buffer.concat(await Array.fromAsync(first.chunks(range))))).toBe(
        true,
      );
      expect(whole.subarray(-90, -10).equals(await sent(cached.cache, blob, range))).toBe(true);
      await using third = await cached.cache.open(blob);
      expect(whole.equals(await third.bytes())).toBe(true);
      await untilCached(cached.cache, blob);
    }
  }
});

test("a part of a large blob does not fetch all of it", async () => {
  await using cached = await cachedStore();
  const blob = await cached.put(5 * mib);
  const content = await cached.cache.open(blob);
  const part = await new Response(bodyOf(content, { start: mib, end: mib + 9 })).bytes();
  expect(part.length).toBe(10);
  await cached.nothingUnfinished();
  expect(cached.cache.has(blob.key)).toBe(false);
});

test("the least recently used blobs go first, and one that is being sent stays readable", async () => {
  await using cached = await cachedStore(2 * mib);
  const { cache } = cached;
  const blobs: StoredBlob[] = [];
  for (let at = 0; at < 8; at += 1) {
    const blob = await cached.put(200 * kib);
    blobs.push(blob);
    await read(cache, blob);
    await untilCached(cache, blob);
  }
  const [first, second] = blobs as [StoredBlob, StoredBlob];
  await using opened = await cache.open(second);
  await read(cache, first);
  // The cache has space for ten.
  for (let at = 0; at < 9; at += 1) {
    const blob = await cached.put(200 * kib);
    await read(cache, blob);
    await untilCached(cache, blob);
  }
  expect([cache.has(first.key), cache.has(second.key)]).toEqual([true, false]);
  const shard = join(cached.path, "blobs", second.key.slice(-2));
  await until("its file is gone", () => !readdirSync(shard).includes(second.key));
  expect(sha256(await opened.bytes())).toBe(second.sha256);
  const files = readdirSync(join(cached.path, "blobs"), { recursive: true, withFileTypes: true });
  expect(files.filter((file) => file.isFile()).length).toBeLessThanOrEqual(10);
});

test("blobs that are too large for the cache are sent and not cached, and nothing is remembered of them", async () => {
  await using cached = await cachedStore(2 * mib);
  const blobs = await Promise.all(Array.from({ length: 12 }, () => cached.put(mib)));
  for (const blob of blobs) await read(cached.cache, blob);
  for (const blob of blobs) await read(cached.cache, blob);
  expect(cached.store.reads).toBe(24);
  expect(blobs.filter(({ key }) => cached.cache.has(key))).toEqual([]);
  const [first] = blobs as [StoredBlob];
  await cached.store.delete([first.key]);
  // Before an answer has begun.
  expect(await faultOf(cached.cache.open(first))).toBeInstanceOf(BlobMissingFault);
  const fitting = await cached.put(300 * kib);
  await read(cached.cache, fitting);
  await untilCached(cached.cache, fitting);
});

test("the cache survives a restart, and one with less space drops what was used longest ago", async () => {
  await using cached = await cachedStore();
  const blobs = [await cached.put(300 * kib), await cached.put(10 * kib)];
  for (const blob of blobs) {
    await read(cached.cache, blob);
    await untilCached(cached.cache, blob);
  }
  const { reads } = cached.store;
  const reopened = cached.openCache();
  await reopened.ready;
  for (const blob of blobs) await read(reopened, blob);
  expect(cached.store.reads).toBe(reads);
  const smaller = cached.openCache(100 * kib);
  await smaller.ready;
  expect(blobs.map(({ key }) => smaller.has(key))).toEqual([false, true]);
});

test("a cached file that was deleted or cut is fetched again", async () => {
  await using cached = await cachedStore();
  const blob = await cached.put(10 * kib);
  const path = join(cached.path, "blobs", blob.key.slice(-2), blob.key);
  for (const damage of [() => rmSync(path), () => writeFileSync(path, "short")]) {
    await read(cached.cache, blob);
    await untilCached(cached.cache, blob);
    damage();
    expect(cached.cache.hold(blob)).toBeUndefined();
    await read(cached.cache, blob);
  }
});

for (const [size, cacheBytes] of [
  [10 * kib, 64 * mib],
  [3 * mib, 64 * mib],
  [3 * mib, 0],
] as const)
  test(`${size} bytes that are damaged in the store are not sent as whole, with a cache of ${cacheBytes}`, async () => {
    await using cached = await cachedStore(cacheBytes);
    const blob = await cached.put(size);
    writeFileSync(join(cached.root, "blobs", blob.key.slice(-2), blob.key), randomBytes(size));
    const { data } = await faultOf(
      cached.cache.open(blob).then((content) => Array.fromAsync(content.chunks())),
    );
    expect(data).toEqual({ reason: "blob_missing", blob: blob.key });
    await cached.nothingUnfinished();
    expect(cached.cache.has(blob.key)).toBe(false);
  });

test("a fill that nobody reads any more ends, and the next reader gets the blob", async () => {
  await using cached = await cachedStore();
  const blob = await cached.put(15 * mib);
  const reader = new Response(bodyOf(await cached.cache.open(blob))).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await cached.nothingUnfinished();
  await read(cached.cache, blob);
});

test("without a usable cache folder everything is sent, and the log has one warning until it works again", async () => {
  await using cached = await cachedStore();
  await cached.cache.ready;
  rmSync(cached.path, { recursive: true });
  writeFileSync(cached.path, "a file, not a folder");
  for (let at = 0; at < 20; at += 1)
    await read(cached.cache, await cached.put(at % 2 === 0 ? 10 * kib : mib));
  const broken = cached.openCache();
  await broken.ready;
  await read(broken, await cached.put(10 * kib));
  expect(cached.events()).toEqual([
    ["WARN", "cache.failed"],
    ["WARN", "cache.failed"],
  ]);
});

test("a cache of no bytes caches nothing", async () => {
  await using cached = await cachedStore(0);
  const blob = await cached.put(10 * kib);
  await read(cached.cache, blob);
  await read(cached.cache, blob);
  expect([cached.store.reads, cached.cache.has(blob.key)]).toEqual([2, false]);
});
