import { expect } from "bun:test";
import { Fault } from "../../src/base/fault.ts";
import { folderPath, treePath, treeRoot } from "../../src/buckets/path.ts";
import { filesBelow } from "../../src/buckets/tree-ops.ts";
import { bothDatabases } from "../support/node.ts";
import { blobKeys, objectNodes, putText, readText } from "../support/object-store.ts";

const at = (text: string) => folderPath(text);

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error;
  throw new Error(`expected a Fault, got ${error}`);
}

bothDatabases("a file is placed, found, read, replaced and removed", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, blobs } = await nodes.open();
  expect(await store.reader.find(treePath("a/b.txt"))).toBeUndefined();
  const stats = await putText(store, at("a/b.txt"), "hello");
  expect(stats.etag).toBe('"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"');
  expect(await readText(store, at("a/b.txt"))).toBe("hello");
  const found = await store.reader.find(at("a/b.txt"));
  expect(found).toMatchObject({ path: "a/b.txt", kind: "file" });
  expect(found?.stats).toMatchObject({ size: 5, etag: stats.etag, settledAtMs: 0 });
  await putText(store, at("a/b.txt"), "hello again");
  expect(await readText(store, at("a/b.txt"))).toBe("hello again");
  await store.transact([at("a/b.txt")], async (transaction, [{ entry }]) => {
    if (entry === undefined) throw new Error("the file is missing");
    expect(await transaction.remove(entry)).toMatchObject({ failures: [] });
  });
  expect(await store.reader.find(at("a/b.txt"))).toBeUndefined();
  expect((await store.reader.find(at("a")))?.kind).toBe("folder");
  // Both versions are kept.
  expect(await blobKeys(blobs)).toHaveLength(2);
});

bothDatabases("an empty file has no blob, and staged content that is not placed is deleted", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, blobs } = await nodes.open();
  await putText(store, at("empty"), "");
  async function* nothing(): AsyncGenerator<Uint8Array> {}
  {
    await using staged = await store.stage(nothing(), at("also-empty"));
    await store.transact([at("also-empty")], (transaction, [{ path }]) =>
      transaction.put(staged, path, { makeParents: false }),
    );
  }
  await store.transact([at("made")], (transaction, [{ path }]) => transaction.makeFile(path));
  expect(await readText(store, at("empty"))).toBe("");
  expect(await readText(store, at("also-empty"))).toBe("");
  expect((await store.reader.find(at("made")))?.stats.size).toBe(0);
  const fault = await faultOf(putText(store, at("no/such/folder"), "text", { makeParents: false }));
  expect(fault.kind).toBe("NotFound");
  expect(await blobKeys(blobs)).toEqual([]);
});

bothDatabases("what cannot be at a path is refused, and changes nothing", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store, database } = await nodes.open();
  await putText(store, at("folder/file"), "text");
  const before = await database.heads.read("site");
  const cases: Array<[string, string]> = [
    ["folder", "a folder exists at this path; choose another"],
    ["folder/file/below", "a file exists where the path needs a folder; choose another path"],
    [`folder/${"é".repeat(128)}`, "a name in the path has more than 255 bytes; choose a shorter one"],
  ];
  for (const [path, detail] of cases) {
    const fault = await faultOf(putText(store, at(path), "other"));
    expect([fault.kind, fault.detail]).toEqual(["InvalidInput", detail]);
  }
  const makeFolder = (path: string) =>
    store.transact([at(path)], (transaction, [target]) => transaction.makeFolder(target.path, {}));
  expect(await makeFolder("folder")).toBe(false);
  expect((await faultOf(makeFolder("missing/folder"))).kind).toBe("NotFound");
  expect((await faultOf(store.reader.open(at("folder")))).kind).toBe("InvalidInput");
  expect((await faultOf(store.reader.open(at("nothing")))).kind).toBe("NotFound");
  expect((await faultOf(filesBelow(store.reader, at("folder/file")))).kind).toBe("InvalidInput");
  expect(await database.heads.read("site")).toEqual(before);
});

bothDatabases("names are matched as given, then in NFC, then in NFD", async (kind) => {
  await using nodes = await objectNodes(kind);
  const { store } = await nodes.open();
  const [nfc, nfd] = ["é", "e\u0301"];
  await putText(store, at(`${nfd}/x`), "below NFD");
  expect((await store.reader.resolve(at(`${nfc}/x`))).path).toBe(at(`${nfd}/x`));
  await putText(store, at(`${nfc}/y-${nfd}`), "in the same folder");
  expect((await filesBelow(store.reader, treeRoot)).map(({ path }) => path)).toEqual([
    at(`${nfd}/x`),
    at(`${nfd}/y-${nfd}`),
  ]);
  expect(await readText(store, at(`${nfc}/y-${nfc}`))).toBe("in the same folder");
  await putText(store, at("top-é"), "NFC");
  expect((await store.reader.find(at("top-e\u0301")))?.path).toBe(at("top-é"));
  const missing = await store.reader.resolve(at(`${nfc}/new-${nfc}/z`));
  expect(missing).toMatchObject({ path: `${nfd}/new-${nfc}/z`, entry: undefined, parent: undefined });
});
