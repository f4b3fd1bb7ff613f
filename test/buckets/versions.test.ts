import { expect } from "bun:test";
import type { BlobPurpose } from "../../src/blobs/blob-store.ts";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { BucketFiles } from "../../src/buckets/bucket-files.ts";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import type { WriteConditions } from "../../src/buckets/write-conditions.ts";
import { bothDatabases } from "../support/node.ts";
import { blobKeys, type ObjectNode, objectNodes, putText, readText } from "../support/object-store.ts";

/** Blobs as of a node that was suspended between the upload and its commit. */
class LateBlobs extends FolderBlobs {
  override put(content: Uint8Array | AsyncIterable<Uint8Array>, purpose: BlobPurpose, signal: AbortSignal) {
    const key = Bun.randomUUIDv7("hex", Date.now() - 21 * 3600_000);
    return super.put(content, { ...purpose, key }, signal);
  }
}

const allowed: WriteConditions = { grant: { assertStillValid: async () => {} } };
const at = (path: string): TreePath => treePath(path);
const filesOf = ({ store }: ObjectNode) => new BucketFiles(store, store.metadata);

bothDatabases("the versions of a file are listed, the newest first, and come back", async (kind) => {
  await using nodes = await objectNodes(kind);
  const node = await nodes.open();
  const files = filesOf(node);
  const path = at("notes/today.txt");
  for (const text of ["one", "two two", "three"]) await putText(node.store, path, text);
  await files.removeFile(path, allowed);
  const versions = await files.versions.list(path, { max: 10 });
  expect(versions.map(({ size, kind, path }) => [size, kind, path])).toEqual([
    [5, "file", path],
    [7, "file", path],
    [3, "file", path],
  ]);
  expect(
    versions.every(({ removedAtMs, retainedUntilMs }) => retainedUntilMs - removedAtMs === 7 * 86_400_000),
  ).toBe(true);
  expect(await files.versions.list(path, { max: 1 })).toEqual(versions.slice(0, 1));
  expect(await files.versions.list(at("other"), { max: 10 })).toEqual([]);

  const second = versions[1];
  if (second === undefined) throw new Error("not listed");
  expect(await files.restoreVersion(second, path, allowed)).toBe("file");
  expect(await readText(node.store, path)).toBe("two two");
  // What it replaces becomes a version, and the version stays one.
  expect(await files.restoreVersion({ ...second, path }, path, allowed)).toBe("file");
  expect(await files.restoreVersion(versions[2] ?? second, at("copy/of/it.txt"), allowed)).toBe("file");
  expect(await readText(node.store, at("copy/of/it.txt"))).toBe("one");
  expect((await files.versions.list(path, { max: 10 })).map(({ size }) => size)).toEqual([7, 5, 7, 3]);
  const wrong = { version: second.version + 1000, path };
  await expect(files.restoreVersion(wrong, path, allowed)).rejects.toMatchObject({
    kind: "NotFound",
    data: wrong,
  });
});

bothDatabases("a deleted folder comes back as it was, or one file of it", async (kind) => {
  await using nodes = await objectNodes(kind);
  const node = await nodes.open();
  const files = filesOf(node);
  for (const name of ["a/x.txt", "a/b/y.txt", "a/b/z.txt", "c.txt"])
    await putText(node.store, at(name), name);
  await files.remove(at("a"), allowed);
  const [folder, ...others] = await files.versions.list(treeRoot, { max: 10 });
  expect(others).toEqual([]);
  expect(folder).toMatchObject({ path: "a", kind: "folder", size: 0 });
  if (folder === undefined) throw new Error("not listed");

  const named = async (after?: { version: number; path: TreePath }) =>
    (await files.versions.list(treeRoot, { max: 2, after, filesOnly: true })).map(({ version, path }) => ({
      version,
      path,
    }));
  const [first, second] = await named();
  const version = folder?.version ?? 0;
  expect([first, second]).toEqual([
    { version, path: at("a/b/y.txt") },
    { version, path: at("a/b/z.txt") },
  ]);
  expect(await named(second)).toEqual([{ version, path: at("a/x.txt") }]);
  expect(await named({ version, path: at("a/x.txt") })).toEqual([]);
  expect((await files.versions.list(at("a/b"), { max: 9, filesOnly: true })).map(({ path }) => path)).toEqual(
    [at("a/b/y.txt"), at("a/b/z.txt")],
  );
  const [file] = await files.versions.list(at("a/b/y.txt"), { max: 10 });
  expect(file).toMatchObject({ path: "a/b/y.txt", kind: "file", size: 9, version: folder.version });
  expect(await files.versions.list(at("a/b/nothing"), { max: 10 })).toEqual([]);
  await files.restoreVersion({ version: folder.version, path: at("a/b/y.txt") }, at("saved.txt"), allowed);
  expect(await readText(node.store, at("saved.txt"))).toBe("a/b/y.txt");
  await files.restoreVersion({ version: folder.version, path: at("a/b") }, at("inner"), allowed);
  expect(await readText(node.store, at("inner/z.txt"))).toBe("a/b/z.txt");

  await expect(files.restoreVersion(folder, at("c.txt"), allowed)).rejects.toMatchObject({
    data: { reason: "path_taken", path: "c.txt" },
  });
  await files.restoreVersion(folder, at("a"), allowed);
  expect(await readText(node.store, at("a/x.txt"))).toBe("a/x.txt");
  expect(await node.store.reader.find(at("a/b"))).toBeUndefined();
  // A folder has one place: what came back is no version any more.
  expect(await files.versions.list(treeRoot, { max: 10 })).toEqual([]);
  await expect(files.restoreVersion(folder, at("again"), allowed)).rejects.toMatchObject({
    kind: "NotFound",
  });
});

bothDatabases("what has expired is neither listed nor restored", async (kind) => {
  await using nodes = await objectNodes(kind);
  const node = await nodes.open({ keepRemovedMs: -1 });
  const files = filesOf(node);
  const path = at("g.txt");
  await putText(node.store, path, "old");
  await putText(node.store, path, "new");
  expect(await files.versions.list(path, { max: 10 })).toEqual([]);
  const head = await node.database.heads.read("site");
  const gone = { version: head?.version ?? 0, path };
  await expect(files.restoreVersion(gone, path, allowed)).rejects.toMatchObject({
    kind: "NotFound",
    data: gone,
  });
});

bothDatabases("an upload that a sweep may be about to delete is refused", async (kind) => {
  await using nodes = await objectNodes(kind);
  const node = await nodes.open();
  const { store, blobs } = node;
  const slow = await nodes.open({ blobs: new LateBlobs(nodes.folder, { sync: false }) });
  await expect(putText(slow.store, at("late.txt"), "late")).rejects.toThrow("more than 20 hours ago");
  expect(await store.reader.find(at("late.txt"))).toBeUndefined();
  expect(await blobKeys(blobs)).toEqual([]);
});
