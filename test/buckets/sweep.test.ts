import { Database as SqliteFile } from "bun:sqlite";
import { expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { storageMaintenance } from "../../src/buckets/maintenance/storage-maintenance.ts";
import { StoreIdentity } from "../../src/buckets/maintenance/store-identity.ts";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { folderNamespace } from "../../src/db/rows/entry-rows.ts";
import type { FileValue } from "../../src/db/rows/entry-values.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogRing } from "../../src/log/ring.ts";
import { never } from "../support/blob-stores.ts";
import { bothDatabases, eachDatabase } from "../support/node.ts";
import {
  agedBlob,
  fileValue,
  folderValue,
  linkBlobs,
  numbered,
  type ObjectRows,
  objectRows,
  oldBlob,
  storedKeys,
} from "../support/object-rows.ts";
import { test } from "../support/test.ts";

const optionsOf = ({ database, blobs }: ObjectRows) => ({ rows: database.removed, blobs, signal: never });
const keysOf = (...files: readonly FileValue[]) => files.map(({ blob }) => String(blob)).sort();
const dayMs = 24 * 3600 * 1000;

test("a sweep deletes nothing while a row of files cannot be read, and names the row", async () => {
  await using store = await objectRows("sqlite");
  const [named, orphan] = [await oldBlob(store.folder, "named"), await oldBlob(store.folder, "orphan")];
  await store.head("site", "root");
  await store.entry("root", "a.txt", named);
  const { file = "" } = store.database;
  using rows = new SqliteFile(file);
  const write = (value: string) =>
    rows.run("UPDATE kv SET value = ? WHERE namespace = ? AND key = ?", [
      value,
      folderNamespace("root"),
      "a.txt",
    ]);
  write(`${JSON.stringify(named)},`);
  await expect(sweep(optionsOf(store))).rejects.toMatchObject({
    kind: "DatabaseError",
    data: { namespace: folderNamespace("root"), key: "a.txt" },
  });
  expect(await storedKeys(store.folder)).toEqual(keysOf(named, orphan));
  write(JSON.stringify(named));
  await sweep(optionsOf(store));
  expect(await storedKeys(store.folder)).toEqual(keysOf(named));
});

bothDatabases("a sweep deletes old blobs that nothing names, and no others", async (kind) => {
  await using store = await objectRows(kind);
  const { folder } = store;
  const deep = folderValue();
  const [named, below, removed, deployed, orphan, other] = await Promise.all(
    ["named", "below", "removed", "deployed", "orphan", "other"].map((text) => oldBlob(folder, text)),
  );
  if (!named || !below || !removed || !deployed || !orphan || !other) throw new Error("not stored");
  const young = await agedBlob(folder, "young", { key: 1, stored: 1 });
  // A large upload: its key is old, but it has just been finished. And a store whose clock is wrong.
  const slow = await agedBlob(folder, "slow", { key: 30, stored: 1 });
  const skewed = await agedBlob(folder, "skewed", { key: 1, stored: 30 });
  await store.head("site", "root");
  await store.entry("root", "a.txt", named);
  await store.entry("root", "folder", deep);
  await store.entry("root", "empty.txt", fileValue(null, ""));
  await store.entry(deep.id, "b.txt", below);
  await store.entry("deployed-root", "c.txt", deployed);
  await store.put("static-files/deploys/site", "1", { root: "deployed-root", at: 0, by: "k", note: "" });
  await store.removed("site", "1/old.txt", { entry: removed, until: Date.now() + dayMs });
  // Values of other namespaces name nothing, whatever they contain.
  await store.put("static-webdav/properties/site", "/x", { blob: orphan.blob });
  await store.put("mine", "x", [{ blob: orphan.blob }]);
  await store.put("mine", "y", "text");

  const swept = await sweep({ ...optionsOf(store), maxHeld: 2 });
  expect(swept).toEqual({ purgedRows: 0, deletedBlobs: 2, deletedBytes: 11, unfinished: 0 });
  expect(await storedKeys(folder)).toEqual(keysOf(named, below, removed, deployed, young, slow, skewed));
  expect(await sweep(optionsOf(store))).toMatchObject({ deletedBlobs: 0 });
});

bothDatabases("what was removed goes when its time has passed, folders with their content", async (kind) => {
  await using store = await objectRows(kind);
  const { folder } = store;
  const [top, sub, shared, kept] = [folderValue(), folderValue(), folderValue(), folderValue()];
  const content = await oldBlob(folder, "content");
  const file = await oldBlob(folder, "file");
  const lasting = await oldBlob(folder, "lasting");
  await store.head("a/b", "root");
  await store.entry("root", "shared", shared);
  await store.entry(shared.id, "x", lasting);
  await store.putAll(
    `static-files/${top.id}`,
    numbered(1200, () => fileValue(content.blob, "content")),
  );
  for (let at = 0; at < 3; at += 1) await store.entry(top.id, `sub${at}`, at === 0 ? sub : folderValue());
  await store.entry(sub.id, "deep.txt", content);
  await store.entry(kept.id, "y", content);
  const past = Date.now() - 60_000;
  await store.removed("a/b", "1/top", { entry: top, until: past });
  await store.removed("a/b", "2/shared", { entry: shared, until: past });
  await store.removed("a/b", "3/file", { entry: file, until: past });
  await store.removed("a/b", "4/file", { entry: lasting, until: Date.now() + 60_000 });
  const first = await sweep(optionsOf(store));
  expect(first.purgedRows).toBe(1200 + 3 + 1 + 1 + 1 + 1);
  expect(first.deletedBlobs).toBe(1);
  expect(await store.removedKeys("a/b")).toEqual(["4/file"]);
  expect(await store.names(top.id)).toEqual([]);
  expect(await store.names(sub.id)).toEqual([]);
  // A folder that something else names keeps its content.
  expect(await store.names(shared.id)).toEqual(["x"]);
  expect(await storedKeys(folder)).toEqual(keysOf(content, lasting));
});

bothDatabases("a purge that was interrupted is continued, and nobody restores its half", async (kind) => {
  await using store = await objectRows(kind);
  const { removed } = store.database;
  const top = folderValue();
  await store.head("site", "root");
  for (const name of ["a", "b"]) await store.entry(top.id, name, fileValue(null, ""));
  await store.removed("site", "1/top", { entry: top, until: Date.now() - 60_000 });
  expect(await removed.beginFolder("site", "1/top")).toEqual(top);
  const rows = (await Array.fromAsync(removed.current.removed("site"))).flat();
  expect(rows.map(({ value }) => value.until)).toEqual([0]);
  expect(await removed.beginFolder("site", "nothing")).toBeUndefined();
  expect((await sweep(optionsOf(store))).purgedRows).toBe(3);
  expect(await store.removedKeys("site")).toEqual([]);
});

bothDatabases("a name that moves between the statements of a sweep is never missed", async (kind) => {
  await using store = await objectRows(kind);
  const moving = await oldBlob(store.folder, "moving");
  await store.head("site", "root");
  const nothing = fileValue(null, "");
  await store.entry("root", "first", nothing);
  await store.entry("root", "last", moving);
  let moves = 0;
  const list = async function* () {
    for await (const batch of store.blobs.list()) {
      yield batch;
      // The only name goes to a row before, and back.
      const [name, other] = moves % 2 === 0 ? ["first", "last"] : ["last", "first"];
      await store.putAll(
        "static-files/root",
        new Map([
          [name, moving],
          [other, undefined],
        ]),
      );
      moves += 1;
    }
  };
  const blobs = new Proxy(store.blobs, {
    get: (target, name) => (name === "list" ? list : Reflect.get(target, name, target).bind?.(target)),
  });
  for (let at = 0; at < 3; at += 1)
    expect(await sweep({ ...optionsOf(store), blobs })).toMatchObject({ deletedBlobs: 0 });
  expect(moves).toBe(3);
});

eachDatabase(
  "a store that seems to be another server's is left alone unless that is confirmed",
  async (kind) => {
    await using store = await objectRows(kind);
    await store.head("site", "root");
    const named = await oldBlob(store.folder, "content");
    await store.entry("root", "a", named);
    linkBlobs(store.folder, String(named.blob), 1099);
    const refused = sweep(optionsOf(store));
    // `rejects` runs the event loop within itself, where what takes many turns crawls; so the sweep ends before.
    await Promise.allSettled([refused]);
    await expect(refused).rejects.toThrow("1099 of 1100 blobs in the store are unreferenced");
    expect(await storedKeys(store.folder)).toHaveLength(1100);
    expect(await sweep({ ...optionsOf(store), isConfirmed: true })).toMatchObject({ deletedBlobs: 1099 });
  },
);

bothDatabases("of two servers one sweeps, once a day, and the log says what was done", async (kind) => {
  await using store = await objectRows(kind);
  const other = await store.open();
  const ring = new LogRing(100, parseFilter("info"));
  store.hub.attach(ring);
  await store.head("site", "root");
  const careOf = async (database: typeof other) => {
    const shared = { database, blobs: store.blobs, log: store.hub.logger("server") };
    const identity = new StoreIdentity({ ...shared, url: "file:///of-the-test" });
    await identity.verify();
    return storageMaintenance({
      ...shared,
      identity,
      serverUuid: "00000000-0000-4000-8000-000000000000",
    });
  };
  const [first, second] = await Promise.all([careOf(store.database), careOf(other)]);
  const orphan = await oldBlob(store.folder, "orphan");
  await writeFile(join(store.folder, "unfinished", "a"), "");
  for (let round = 0; round < 2; round += 1) {
    for (const task of [first, second]) task.dueIn(0);
    await Promise.all([first.settled(), second.settled()]);
  }
  const events = ring.entries().filter(({ fields }) => fields.event === "files.swept");
  expect(events.map(({ fields }) => fields)).toEqual([
    expect.objectContaining({
      purged_rows: 0,
      deleted_blobs: 1,
      deleted_bytes: orphan.size,
      unfinished: 0,
      manifests: 1,
    }),
  ]);
  await Promise.all([first.close(), second.close()]);
  await other.close();
});

bothDatabases("a lease ends by itself, is renewed by its holder alone, and is given back", async (kind) => {
  await using store = await objectRows(kind);
  const { taskLocks } = store.database;
  const everyMs = dayMs;
  expect(await taskLocks.acquire("t", { holder: "a", lockMs: 60_000, everyMs })).toBe(0);
  const waitMs = await taskLocks.acquire("t", { holder: "b", lockMs: 60_000, everyMs });
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(60_000);
  expect(await taskLocks.renew("t", { holder: "b", lockMs: 60_000 })).toBe(false);
  expect(await taskLocks.renew("t", { holder: "a", lockMs: -1 })).toBe(true);
  // Its time has passed, as that of a server that died.
  expect(await taskLocks.acquire("t", { holder: "b", lockMs: 60_000, everyMs })).toBe(0);
  expect(await taskLocks.renew("t", { holder: "a", lockMs: 60_000 })).toBe(false);
  await taskLocks.release("t", "b", { isDone: false });
  expect(await taskLocks.acquire("t", { holder: "c", lockMs: 60_000, everyMs })).toBe(0);
  await taskLocks.release("t", "c", { isDone: true });
  expect(await taskLocks.acquire("t", { holder: "a", lockMs: 60_000, everyMs })).toBeGreaterThan(
    dayMs - 60_000,
  );
});

bothDatabases("a listing that is out of order, or in many batches, costs no named blob", async (kind) => {
  await using store = await objectRows(kind);
  await store.head("site", "root");
  const named = await Promise.all(["a", "b", "c"].map((text) => oldBlob(store.folder, text)));
  for (const [at, value] of named.entries()) await store.entry("root", `${at}`, value);
  await oldBlob(store.folder, "orphan");
  const list = async function* () {
    const all = (await Array.fromAsync(store.blobs.list())).flat();
    for (const blob of all.reverse()) yield [blob];
  };
  const blobs = new Proxy(store.blobs, {
    get: (target, name) => (name === "list" ? list : Reflect.get(target, name, target).bind?.(target)),
  });
  expect(await sweep({ ...optionsOf(store), blobs })).toMatchObject({ deletedBlobs: 1 });
  expect(await storedKeys(store.folder)).toEqual(keysOf(...named));
});

bothDatabases("a purge of many versions lets others write between its small transactions", async (kind) => {
  await using rows = await objectRows(kind);
  const until = Date.now() + 86_400_000;
  const versions = new Map<string, unknown>();
  for (let version = 1; version <= 1000; version += 1)
    versions.set(`${version}/a.txt`, {
      path: "a.txt",
      entry: fileValue(null, "a"),
      at: until - 86_400_000,
      until,
    });
  await rows.putAll("static-files/removed/site", versions);
  const ended: string[] = [];
  const write = async (name: string) => {
    await rows.put("others", name, {});
    ended.push(name);
  };
  const purging = rows.database.removed.expireAll("site").then((count) => {
    ended.push("purge");
    return count;
  });
  for (let at = 0; at < 3; at += 1) await write(`write ${at}`);
  expect(await purging).toBe(1000);
  expect(ended.at(-1)).toBe("purge");
  if (kind === "postgres") {
    await using outside = new SQL({ url: rows.databaseUrl, max: 1 });
    const sizes = await outside.unsafe(
      "SELECT count(*)::int AS n FROM kv WHERE namespace = 'static-files/removed/site' GROUP BY xmin::text ORDER BY n DESC",
    );
    expect(sizes[0].n).toBeLessThanOrEqual(200);
  }
  for await (const batch of rows.database.removed.current.removed("site"))
    for (const { value } of batch) expect(value.until).toBe(0);
});
