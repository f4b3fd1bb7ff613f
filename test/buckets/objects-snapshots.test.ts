import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { nextTurn } from "../../src/base/turns.ts";
import { folderPath } from "../../src/buckets/path.ts";
import type { FileSnapshot } from "../../src/buckets/ports.ts";
import { filesBelow } from "../../src/buckets/tree-ops.ts";
import type { RowTree } from "../../src/buckets/trees/rows/row-tree.ts";
import { bothDatabases } from "../support/node.ts";
import { objectNodes, putText } from "../support/object-store.ts";

const at = (text: string) => folderPath(text);
const isCurrent = (snapshot: FileSnapshot) => snapshot.isCurrent(new Map());

async function snapshotOf(store: RowTree, path: string): Promise<FileSnapshot> {
  const entry = await store.reader.find(at(path));
  return entry?.snapshot() ?? store.reader.snapshotOfMissing(at(path));
}

/** Looks until the snapshots are current: on a busy machine the lease of a look may end before its answer comes. */
async function seenCurrent(look: () => Promise<void>, ...snapshots: FileSnapshot[]): Promise<boolean> {
  for (let looks = 0; looks < 50; looks += 1) {
    await look();
    if (snapshots.every(isCurrent)) return true;
  }
  return false;
}

bothDatabases("a snapshot is current until its own node changes the path", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, look } = await nodes.open();
  await putText(store, at("a"), "one");
  const [file, missing] = [await snapshotOf(store, "a"), await snapshotOf(store, "b")];
  expect(await seenCurrent(look, file, missing)).toBe(true);
  await putText(store, at("a"), "two");
  expect(isCurrent(file)).toBe(false);
  await putText(store, at("b"), "new");
  expect(isCurrent(missing)).toBe(false);
});

bothDatabases("a snapshot whose folder was moved away or replaced is not current", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, look } = await nodes.open();
  await putText(store, at("a/file"), "one");
  await putText(store, at("b/file"), "two");
  const file = await snapshotOf(store, "a/file");
  expect(await seenCurrent(look, file)).toBe(true);
  await store.transact([at("b"), at("a")], async (transaction, [source, target]) => {
    if (source.entry === undefined) throw new Error("b is missing");
    const { signal } = new AbortController();
    await transaction.move(source.entry, target.path, { makeParents: false, signal });
  });
  expect(isCurrent(file)).toBe(false);
});

test("on SQLite a change by another process is seen at once, and one elsewhere leaves a snapshot current", async () => {
  await using nodes = await objectNodes("sqlite");
  const [one, two] = [await nodes.open(), await nodes.open()];
  await putText(one.store, at("a"), "text");
  const [file, missing] = [await snapshotOf(one.store, "a"), await snapshotOf(one.store, "b")];
  // The database is asked once in a turn of the event loop, and a request begins one. An upload may end in the turn in which it began.
  const changeElsewhere = async (path: string) => {
    await putText(two.store, at(path), "new text");
    await nextTurn();
  };
  for (let round = 0; round < 20; round += 1) {
    await changeElsewhere(`other/${round}`);
    expect([isCurrent(file), isCurrent(missing)]).toEqual([true, true]);
  }
  await changeElsewhere("a");
  expect([isCurrent(file), isCurrent(missing)]).toEqual([false, true]);
  await changeElsewhere("b");
  expect(isCurrent(missing)).toBe(false);
});

bothDatabases(
  "content on a local disk is held for the kernel to send, while the file is the same",
  async (kind) => {
    await using nodes = await objectNodes(kind);
    const { store } = await nodes.open();
    await putText(store, at("a"), "content");
    const entry = await store.reader.find(at("a"));
    const held = entry?.snapshot().hold();
    expect(await held?.blob.text()).toBe("content");
    held?.close();
    await putText(store, at("empty"), "");
    expect((await snapshotOf(store, "empty")).hold()).toBeUndefined();
    expect((await snapshotOf(store, "missing")).hold()).toBeUndefined();
  },
);

bothDatabases("HEAD, listings and open files ask the blob store for nothing", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store } = await nodes.open();
  await putText(store, at("a/b"), "content");
  await rm(join(nodes.folder, "blobs"), { recursive: true });
  await using file = await store.reader.open(at("a/b"));
  expect(file.stats.size).toBe(7);
  expect(file.isRemote).toBe(true);
  expect((await filesBelow(store.reader, at("a"))).map(({ path }) => path)).toEqual([at("a/b")]);
  await expect(file.prepare()).rejects.toThrow();
});
