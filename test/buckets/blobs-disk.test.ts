import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../src/base/fault.ts";
import { newBlobKey } from "../../src/blobs/blob-store.ts";
import { BlobCache, CacheFolder } from "../../src/blobs/cache.ts";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { listed, never, sha256, textOf } from "../support/blob-stores.ts";
import { tempFolder } from "../support/node.ts";
import { randomBytes } from "../support/tools.ts";
import { mounted } from "../support/webdav-disk.ts";

const mib = 1024 * 1024;
const about = { path: "site/a" };

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

const faultOf = async (work: Promise<unknown>): Promise<Fault> => {
  const error = await work.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
  if (error instanceof Fault) return error;
  throw error;
};

test("a full disk of the blobs refuses an upload and leaves nothing of it", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "store");
  using disk = mounted("a full disk of blobs", root, "size=4m");
  if (disk === undefined) return;
  const store = new FolderBlobs(root, { sync: true });
  await store.check(never);
  const kept = await store.put(Buffer.from("kept"), about, never);
  const large = randomBytes(5 * mib);
  for (const content of [large, pieces(large)]) {
    const { data, detail } = await faultOf(store.put(content, about, never));
    expect([data.reason, detail]).toEqual([
      "disk_full",
      "the disk of the blob folder is full; nothing was changed",
    ]);
  }
  expect(readdirSync(join(root, "unfinished"))).toEqual([]);
  expect(await listed(store)).toEqual([kept.key]);
  await store.put(randomBytes(mib), about, never);
});

test("a store on a read-only disk is refused with what to do, and its blobs can be read", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "store");
  using disk = mounted("a read-only disk of blobs", root, "size=4m");
  if (disk === undefined) return;
  const store = new FolderBlobs(root, { sync: true });
  await store.check(never);
  const { key } = await store.put(Buffer.from("kept"), about, never);
  disk.remount("ro");
  expect((await faultOf(store.check(never))).detail).toBe(
    `the folder ${root} of [files] url is on a read-only file system; mount it writable or name another path`,
  );
  expect((await faultOf(store.put(Buffer.from("x"), about, never))).detail).toBe(
    "the blob folder is read-only; mount it writable",
  );
  expect(await textOf(store, key)).toBe("kept");
  disk.remount("rw");
  await store.check(never);
});

test("a disk of blobs that is unmounted is unavailable, and nothing is written in its place", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "mounts/store");
  const disk = mounted("a disk of blobs that is unmounted", root, "size=4m");
  if (disk === undefined) return;
  const store = new FolderBlobs(root, { sync: true });
  await store.check(never);
  const { key } = await store.put(Buffer.from("kept"), about, never);
  disk[Symbol.dispose]();
  const attempts = [
    () => store.check(never),
    () => store.put(Buffer.from("x"), about, never),
    () => store.get(key, undefined, never),
    () => listed(store),
  ];
  for (const attempt of attempts) expect((await faultOf(attempt())).data).toEqual({ reason: "unavailable" });
  expect(readdirSync(root)).toEqual([]);
});

test("a file that was begun before the disk of the cache failed does not end the failure", async () => {
  await using folder = await tempFolder();
  const hub = new LogHub();
  const events: unknown[] = [];
  hub.attach({ filter: parseFilter("info"), write: ({ fields }) => void events.push(fields.event) });
  const cache = new CacheFolder({ path: folder.path, maxBytes: mib, log: hub.logger("cache") });
  await cache.ready;
  const begun = cache.allocate(5) ?? "";
  await writeFile(begun, "bytes");
  const full = () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  expect(await cache.guarded(full)).toBe(false);
  await cache.keep(begun, { key: newBlobKey(), size: 5 });
  expect(events).toEqual(["cache.failed"]);
});

test("with a full disk of the cache every blob is sent, and the log has one warning", async () => {
  await using folder = await tempFolder();
  const [root, path] = [join(folder.path, "store"), join(folder.path, "cache")];
  mkdirSync(root);
  using disk = mounted("a full disk of the cache", path, "size=1m");
  if (disk === undefined) return;
  const store = new FolderBlobs(root, { sync: false });
  await store.check(never);
  const hub = new LogHub();
  const events: unknown[] = [];
  hub.attach({
    filter: parseFilter("info"),
    write: ({ level, fields }) => void events.push([level, fields.event]),
  });
  const cache = new BlobCache({ store, path, maxBytes: 64 * mib, log: hub.logger("cache") });
  await cache.ready;
  for (let at = 0; at < 20; at += 1) {
    const blob = await store.put(randomBytes(at % 2 === 0 ? 100_000 : 2 * mib), about, never);
    await using content = await cache.open(blob);
    expect(sha256(Buffer.concat(await Array.fromAsync(content.chunks())))).toBe(blob.sha256);
  }
  expect(events).toEqual([["WARN", "cache.failed"]]);
});
