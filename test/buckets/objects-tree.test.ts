import { expect } from "bun:test";
import { folderPath, treeRoot } from "../../src/buckets/path.ts";
import type { FileEntry } from "../../src/buckets/ports.ts";
import { walk } from "../../src/buckets/tree-ops.ts";
import type { RowTree } from "../../src/buckets/trees/rows/row-tree.ts";
import { removedNamespace } from "../../src/db/rows/entry-rows.ts";
import type { RemovedValue } from "../../src/db/rows/entry-values.ts";
import { bothDatabases } from "../support/node.ts";
import { blobKeys, objectNodes, putText, readText } from "../support/object-store.ts";

const at = (text: string) => folderPath(text);
const { signal } = new AbortController();

async function entryAt(store: RowTree, path: string): Promise<FileEntry> {
  const entry = await store.reader.find(at(path));
  if (entry === undefined) throw new Error(`${path} is missing`);
  return entry;
}

function move(store: RowTree, from: string, to: string, makeParents = false) {
  return store.transact([at(from), at(to)], async (transaction, [source, target]) => {
    if (source.entry === undefined) throw new Error(`${from} is missing`);
    return transaction.move(source.entry, target.path, { makeParents, signal });
  });
}

function copy(store: RowTree, from: string, to: string, recursive = true) {
  return store.transact([at(from), at(to)], async (transaction, [source, target]) => {
    if (source.entry === undefined) throw new Error(`${from} is missing`);
    return transaction.copy(source.entry, target.path, { recursive, makeParents: false, signal });
  });
}

const paths = async (store: RowTree) => {
  const found: string[] = [];
  for await (const { path, kind } of walk(store.reader, treeRoot))
    found.push(kind === "folder" ? `${path}/` : path);
  return found.sort();
};

bothDatabases("a folder is moved with everything in it, in place of what exists there", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, database } = await nodes.open();
  await putText(store, at("a/one.txt"), "one");
  await putText(store, at("a/deep/two.txt"), "two");
  await putText(store, at("b/old.txt"), "old");
  await move(store, "a", "b");
  expect(await paths(store)).toEqual(["b/", "b/deep/", "b/deep/two.txt", "b/one.txt"]);
  expect(await readText(store, at("b/deep/two.txt"))).toBe("two");
  await move(store, "b/one.txt", "new/folder/one.txt", true);
  expect(await readText(store, at("new/folder/one.txt"))).toBe("one");
  const kept = await database.kv.removeAndReturnAll(removedNamespace("site"));
  expect(Object.values(kept)).toEqual([expect.objectContaining({ path: "b" })]);
});

bothDatabases("a copy names the same blobs, and changes to it leave the original", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, blobs } = await nodes.open();
  await putText(store, at("a/one.txt"), "one");
  await putText(store, at("a/deep/two.txt"), "two");
  const blobCount = (await blobKeys(blobs)).length;
  await copy(store, "a", "b");
  await copy(store, "a", "shallow", false);
  expect(await paths(store)).toEqual([
    "a/",
    "a/deep/",
    "a/deep/two.txt",
    "a/one.txt",
    "b/",
    "b/deep/",
    "b/deep/two.txt",
    "b/one.txt",
    "shallow/",
  ]);
  expect((await entryAt(store, "b/one.txt")).stats.etag).toBe((await entryAt(store, "a/one.txt")).stats.etag);
  expect(await blobKeys(blobs)).toHaveLength(blobCount);
  await putText(store, at("b/deep/two.txt"), "other");
  await copy(store, "a/one.txt", "b/deep/two.txt");
  expect(await readText(store, at("a/deep/two.txt"))).toBe("two");
  expect(await readText(store, at("b/deep/two.txt"))).toBe("one");
});

bothDatabases("a copy that is aborted has changed nothing", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, stop } = await nodes.open();
  await putText(store, at("a/one.txt"), "one");
  stop.abort(new Error("the server stops"));
  await expect(copy(store, "a", "b")).rejects.toThrow("the server stops");
  expect(await paths(store)).toEqual(["a/", "a/one.txt"]);
});

bothDatabases("what is deleted or replaced is kept with its path and until when", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, database } = await nodes.open({ keepRemovedMs: 5000 });
  await putText(store, at("a/one.txt"), "one");
  await putText(store, at("a/one.txt"), "two");
  await store.transact([at("a")], async (transaction, [{ entry }]) => entry && transaction.remove(entry));
  expect(await paths(store)).toEqual([]);
  const kept = await database.kv.removeAndReturnAll(removedNamespace("site"));
  expect(Object.keys(kept).sort()).toEqual(["2/one.txt", "3/a"]);
  const { path, entry, at: time, until } = kept["2/one.txt"] as RemovedValue;
  expect(path).toBe("a/one.txt");
  expect(entry).toMatchObject({ size: 3, version: 1 });
  expect(until - time).toBe(5000);
});

bothDatabases(
  "times are those that a client sets, and a change of a name is one of its folder",
  async (kind) => {
    await using nodes = await objectNodes(kind);
    const { store } = await nodes.open();
    const [early, late] = [new Date(1_000_000), new Date(2_000_000)];
    await store.transact([at("a")], (transaction, [{ path }]) =>
      transaction.makeFolder(path, { modified: early }),
    );
    expect((await entryAt(store, "a")).stats.modifiedMs).toBe(1_000_000);
    await putText(store, at("a/one.txt"), "one");
    const { stats } = await entryAt(store, "a");
    expect(stats.modifiedMs).toBeGreaterThan(1_000_000);
    const set = (path: string, times: { modified?: Date; accessed?: Date }) =>
      store.transact(
        [at(path)],
        async (transaction, [{ entry }]) => entry && transaction.setTimes(entry, times),
      );
    await set("a/one.txt", { modified: early, accessed: late });
    await set("a", { modified: late });
    await set("", { modified: early });
    expect((await entryAt(store, "a/one.txt")).stats).toMatchObject({
      modifiedMs: 1_000_000,
      accessedMs: 2_000_000,
    });
    expect((await entryAt(store, "a")).stats.modifiedMs).toBe(2_000_000);
    expect((await entryAt(store, "")).stats.modifiedMs).toBe(1_000_000);
    const { createdMs } = (await entryAt(store, "a/one.txt")).stats;
    await putText(store, at("a/one.txt"), "two");
    expect((await entryAt(store, "a/one.txt")).stats.createdMs).toBe(createdMs);
  },
);

bothDatabases("entries are sorted by code units, in batches, and sizes are counted", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store } = await nodes.open();
  const names = ["b", "B", "a b", "ä", "😀", "\uffee", "Z", "_", "a"];
  for (const name of names) await putText(store, at(`f/${name}`), name);
  await store.transact([at("empty")], (transaction, [{ path }]) => transaction.makeFolder(path, {}));
  const listed: string[] = [];
  for await (const batch of store.reader.entries(at("f"))) listed.push(...batch.map(({ path }) => path));
  expect(listed).toEqual(names.map((name) => `f/${name}`).sort());
  const batches: number[] = [];
  for await (const batch of store.reader.entries(at("empty"))) batches.push(batch.length);
  expect(batches).toEqual([0]);
  let [count, bytes] = [0, 0];
  for await (const { sizes } of store.reader.fileSizes()) {
    count += sizes.length;
    for (const size of sizes) bytes += size;
  }
  expect([count, bytes]).toEqual([names.length, Buffer.byteLength(names.join(""))]);
  // The blobs are in a folder.
  expect((await store.reader.diskUsage())?.availableBytes).toBeGreaterThan(0);
});
