import { expect } from "bun:test";
import { BlobMissingFault, newBlobKey } from "../../src/blobs/blob-store.ts";
import { chunks, eachBlobStore, listed, never, sha256, textOf } from "../support/blob-stores.ts";

const about = { path: "site/index.html" };

eachBlobStore("content that arrives in pieces comes back whole, with its size and hash", async (store) => {
  const blob = await store.put(chunks("one ", "", "two"), about, never);
  expect(blob).toMatchObject({ size: 7, sha256: sha256("one two") });
  expect(await textOf(store, blob.key)).toBe("one two");
});

eachBlobStore("content in memory comes back whole, however long it is", async (store) => {
  for (const size of [0, 1, 4096, 3 * 1024 * 1024 + 1, 9_000_000]) {
    const content = crypto.getRandomValues(Buffer.alloc(Math.min(size, 65_536)));
    const whole = Buffer.alloc(size, content.length > 0 ? content : 0);
    const blob = await store.put(whole, about, never);
    expect(blob).toMatchObject({ size, sha256: sha256(whole) });
    const back = await new Response(await store.get(blob.key, undefined, never)).bytes();
    expect(sha256(back)).toBe(blob.sha256);
  }
});

eachBlobStore("a part of a blob is read by its first and last byte", async (store) => {
  const { key } = await store.put(Buffer.from("0123456789"), about, never);
  expect(await textOf(store, key, { start: 0, end: 0 })).toBe("0");
  expect(await textOf(store, key, { start: 3, end: 5 })).toBe("345");
  expect(await textOf(store, key, { start: 9, end: 9 })).toBe("9");
});

eachBlobStore("blobs are listed by key, from any key on, with their sizes", async (store) => {
  const keys: string[] = [];
  for (let at = 0; at < 20; at += 1)
    keys.push((await store.put(chunks("x".repeat(at + 1)), about, never)).key);
  const sorted = keys.toSorted();
  expect(await listed(store)).toEqual(sorted);
  expect(await listed(store, sorted[9])).toEqual(sorted.slice(10));
  expect(await listed(store, sorted.at(-1))).toEqual([]);
  const infos = (await Array.fromAsync(store.list())).flat();
  expect(infos.find(({ key }) => key === keys[4])?.size).toBe(5);
  for (const { storedAtMs } of infos) expect(Math.abs(Date.now() - storedAtMs)).toBeLessThan(600_000);
});

eachBlobStore("deleted blobs are gone, and deleting them again is no error", async (store) => {
  const kept = await store.put(Buffer.from("kept"), about, never);
  const gone = await store.put(Buffer.from("gone"), about, never);
  await store.delete([gone.key, newBlobKey()]);
  await store.delete([gone.key]);
  expect(await listed(store)).toEqual([kept.key]);
  expect(store.get(gone.key, undefined, never)).rejects.toBeInstanceOf(BlobMissingFault);
  expect(await textOf(store, kept.key)).toBe("kept");
});

eachBlobStore("an upload whose source fails leaves nothing, and fails as the source did", async (store) => {
  const error = Object.assign(new Error("the client went away"), { code: "ECONNRESET" });
  async function* failing(size: number) {
    yield new Uint8Array(size);
    throw error;
  }
  for (const size of [10, 9 * 1024 * 1024])
    expect(await store.put(failing(size), about, never).catch((thrown) => thrown)).toBe(error);
  expect(await store.putManifest("a", failing(10), never).catch((thrown) => thrown)).toBe(error);
  expect(await listed(store)).toEqual([]);
});

eachBlobStore(
  "an upload that is aborted while its source is silent ends at once and leaves nothing",
  async (store) => {
    const stop = new AbortController();
    async function* silent() {
      yield* chunks("half");
      setImmediate(() => stop.abort(new Error("stopped")));
      await new Promise(() => {});
    }
    await expect(store.put(silent(), about, stop.signal)).rejects.toThrow("stopped");
    expect(await listed(store)).toEqual([]);
  },
);

eachBlobStore("a copy keeps its key, and one that fails leaves what was there", async (store) => {
  const key = newBlobKey();
  async function* failing() {
    yield* chunks("half");
    throw new Error("the source failed");
  }
  for (const text of ["first", "second"]) {
    const blob = await store.put(chunks(text), { ...about, key }, never);
    expect(blob).toEqual({ key, size: text.length, sha256: sha256(text) });
    await expect(store.put(failing(), { ...about, key }, never)).rejects.toThrow("the source failed");
    expect(await textOf(store, key)).toBe(text);
  }
});

eachBlobStore("a manifest is replaced as a whole and is not listed", async (store) => {
  await store.putManifest("site.jsonl", chunks("first"), never);
  await store.putManifest("site.jsonl", chunks("second"), never);
  expect(await listed(store)).toEqual([]);
});

eachBlobStore("a check leaves nothing behind", async (store) => {
  await store.check(never);
  expect(await listed(store)).toEqual([]);
});
