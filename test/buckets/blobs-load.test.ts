import { expect } from "bun:test";
import { eachBlobStore, listed, never } from "../support/blob-stores.ts";
import { randomBytes } from "../support/tools.ts";

const mib = 1024 * 1024;

// 600 MB are written, sent and hashed, which takes five seconds of an idle machine.
const largeMs = 60_000;

eachBlobStore(
  "an upload of 300 MB, and a download of it, take a flat amount of memory",
  async (store) => {
    const piece = randomBytes(mib);
    let [peak, passed, looked] = [0, 0, 0];
    // What is garbage already does not count: when it is collected depends on how busy the machine is.
    const look = (bytes: number) => {
      passed += bytes;
      if (passed - looked < 16 * mib) return;
      looked = passed;
      Bun.gc(true);
      peak = Math.max(peak, process.memoryUsage.rss());
    };
    async function* content() {
      for (let at = 0; at < 300; at += 1) {
        look(mib);
        // A piece of its own each time, as from a socket.
        yield piece.slice();
      }
    }
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    const { key, size, sha256 } = await store.put(content(), { path: "site/large" }, never);
    expect(size).toBe(300 * mib);
    const hasher = new Bun.CryptoHasher("sha256");
    for await (const chunk of await store.get(key, undefined, never)) {
      look(chunk.length);
      hasher.update(chunk);
    }
    expect(hasher.digest("hex")).toBe(sha256);
    expect(passed).toBe(600 * mib);
    expect((peak - before) / mib).toBeLessThan(200);
    await store.delete([key]);
  },
  { timeoutMs: largeMs, inMemory: false },
);

eachBlobStore("1,000 short uploads at once are all stored", async (store) => {
  const blobs = await Promise.all(
    Array.from({ length: 1000 }, (_, at) =>
      store.put(Buffer.from(`content ${at}`), { path: "site/x" }, never),
    ),
  );
  expect(await listed(store)).toEqual(blobs.map(({ key }) => key).sort());
  await store.delete(blobs.map(({ key }) => key));
  expect(await listed(store)).toEqual([]);
});
