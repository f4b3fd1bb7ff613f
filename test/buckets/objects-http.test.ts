import { expect, test } from "bun:test";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { migratedDatabase, type StoreKind, type TestNode, testNode } from "../support/node.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import { chosenFor } from "../support/tier.ts";
import { webdavSite } from "../support/webdav.ts";

const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';
const stores: readonly StoreKind[] = ["objects over sqlite", "objects over postgres"];

function eachObjectStore(title: string, story: (store: StoreKind) => Promise<void>): void {
  for (const store of chosenFor(title, stores)) test(`${title} (${store})`, () => story(store));
}

const plain = (node: TestNode, path: string, init: RequestInit = {}) =>
  fetch(`${node.url}/node/static/site${path}`, {
    ...init,
    headers: { "accept-encoding": "identity", ...init.headers },
  });

/** Removes the content of all files, as a store that loses objects does. */
async function loseBlobs(node: TestNode): Promise<void> {
  const folder = join(node.folder, "blobs", "blobs");
  for (const shard of await readdir(folder))
    for (const name of await readdir(join(folder, shard))) await rm(join(folder, shard, name));
}

eachObjectStore("a file is sent whole, in parts and not again, by both protocols", async (store) => {
  await using node = await testNode({ store });
  const { dav } = await webdavSite(node);
  // Above the size up to which files are kept in memory.
  const large = Buffer.alloc(5_000_000, "0123456789");
  for (const [path, content] of [
    ["/small.txt", Buffer.from("0123456789")],
    ["/large.bin", large],
  ] as const) {
    expect((await dav("PUT", path, {}, content)).status).toBe(201);
    for (const get of [
      (headers = {}) => plain(node, path, { headers }),
      (headers = {}) => dav("GET", path, headers),
    ]) {
      const whole = await get();
      expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);
      const etag = whole.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{43}"$/);
      const part = await get({ range: "bytes=3-7" });
      expect([part.status, await part.text()]).toEqual([206, "34567"]);
      expect((await get({ "if-none-match": etag })).status).toBe(304);
    }
    const head = await plain(node, path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(content.length)]);
  }
});

eachObjectStore(
  "content that the store has lost is 502 and an error in the log; names, HEAD and 304 still work",
  async (store) => {
    await using node = await testNode({ store, logging });
    const { dav } = await webdavSite(node);
    const large = Buffer.alloc(5_000_000, "x");
    await dav("PUT", "/small.txt", {}, "text");
    await dav("PUT", "/large.bin", {}, large);
    const etag = (await dav("HEAD", "/small.txt")).headers.get("etag") ?? "";
    await loseBlobs(node);
    for (const path of ["/small.txt", "/large.bin"]) {
      expect([path, (await plain(node, path)).status]).toEqual([path, 502]);
      expect([path, (await dav("GET", path)).status]).toEqual([path, 502]);
      expect([path, (await plain(node, path, { method: "HEAD" })).status]).toEqual([path, 200]);
      expect([path, (await dav("HEAD", path)).status]).toEqual([path, 200]);
    }
    expect((await plain(node, "/small.txt", { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await dav("PROPFIND", "/", { depth: "1" })).status).toBe(207);
    expect(
      (await dav("MOVE", "/small.txt", { destination: `${node.url}/node/static-webdav/site/moved.txt` }))
        .status,
    ).toBe(201);
    const lines = node.node.ring.entries().filter(({ fields }) => fields.event === "blob.missing");
    expect(lines[0]).toMatchObject({ level: "ERROR", fields: { bucket: "site", path: "small.txt" } });
    expect(lines.map(({ fields }) => fields.path)).toContain("large.bin");
    for (const path of ["moved.txt", "large.bin"]) {
      const error = await node.refused("static-bucket-file_read", [node.superToken, "site", path]);
      expect(error.data).toMatchObject({ kind: "IoError", reason: "blob_missing" });
    }
  },
);

eachObjectStore("a store that is away is 503 for content, and the names stay", async (store) => {
  await using node = await testNode({ store, logging });
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "text");
  await dav("PUT", "/large.bin", {}, Buffer.alloc(200_000));
  const folder = join(node.folder, "blobs");
  await rename(folder, `${folder}-away`);
  const refused = await plain(node, "/a.txt");
  expect([refused.status, refused.headers.has("retry-after")]).toEqual([503, true]);
  // What to do about it is for the operator, and in the log once.
  const answer = "503 Service Unavailable: the file store does not answer.\n";
  expect(await refused.text()).toBe(answer);
  for (let again = 0; again < 5; again += 1) {
    const refused = await dav("GET", "/a.txt");
    expect([refused.status, await refused.text()]).toEqual([503, answer]);
  }
  const failures = node.node.ring.entries().filter(({ fields }) => fields.event === "store.request_failed");
  expect(failures).toMatchObject([{ level: "WARN", fields: { reason: expect.stringContaining("mount") } }]);
  for (const path of ["a.txt", "large.bin"]) {
    const error = await node.refused("static-bucket-file_read", [node.superToken, "site", path]);
    expect([path, error.data]).toMatchObject([path, { kind: "IoError", reason: "unavailable" }]);
  }
  expect((await dav("PUT", "/b.txt", {}, "text")).status).toBe(503);
  expect((await dav("PROPFIND", "/a.txt", { depth: "0" })).status).toBe(207);
  await rename(`${folder}-away`, folder);
  expect(await (await plain(node, "/a.txt")).text()).toBe("text");
  expect((await dav("PROPFIND", "/b.txt", { depth: "0" })).status).toBe(404);
});

eachObjectStore(
  "a change is seen by the next plain request, also of a file that is in memory",
  async (store) => {
    await using node = await testNode({ store });
    const { dav } = await webdavSite(node);
    for (let round = 0; round < 20; round += 1) {
      await dav("PUT", "/a.txt", {}, `text ${round}`);
      for (let again = 0; again < 3; again += 1)
        expect(await (await plain(node, "/a.txt")).text()).toBe(`text ${round}`);
    }
  },
);

test("while PostgreSQL is away, files in memory are still sent, and everything else is 503", async () => {
  const made = await migratedDatabase("postgres", "");
  await using relay = await postgresRelay(made.url);
  {
    const clock = new ManualClock();
    await using node = await testNode({ store: "objects over postgres", databaseUrl: relay.url, clock });
    const { dav } = await webdavSite(node);
    await dav("PUT", "/a.txt", {}, "text");
    await dav("PUT", "/b.txt", {}, "text");
    // The first answer is from the store; the versions of the buckets are read then.
    for (let again = 0; again < 3; again += 1) expect((await plain(node, "/a.txt")).status).toBe(200);
    await relay.refuse();
    for (let second = 1; second < 59; second += 1) {
      await clock.advance(1000);
      expect([second, await (await plain(node, "/a.txt")).text()]).toEqual([second, "text"]);
    }
    expect((await plain(node, "/b.txt")).status).toBe(503);
    expect((await dav("PROPFIND", "/", { depth: "0" })).status).toBe(503);
    await relay.mend();
    await clock.until("it recovers", 1000, async () => (await plain(node, "/b.txt")).status === 200);
  }
  await made.drop();
});
