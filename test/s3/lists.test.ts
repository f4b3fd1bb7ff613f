import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TreePath, treePath, treeRoot } from "../../src/buckets/path.ts";
import type { FileEntry, FileReader } from "../../src/buckets/ports.ts";
import { DiskReader } from "../../src/buckets/trees/disk/read.ts";
import { PathResolver } from "../../src/buckets/trees/disk/resolve.ts";
import { keys } from "../../src/http/s3/list.ts";
import { tempFolder } from "../support/node.ts";
import { test } from "../support/test.ts";

/** A tree of these files in the root, which counts how often it is read. */
function treeOf(names: readonly string[]) {
  const sorted = [...names].sort();
  const entryOf = (path: string, kind: "file" | "folder") => ({ path: path as TreePath, kind }) as FileEntry;
  const reads = { lists: 0, entries: 0 };
  const reader = {
    async find(path: TreePath) {
      if (path === treeRoot) return entryOf(path, "folder");
      return sorted.includes(path) ? entryOf(path, "file") : undefined;
    },
    async *entriesAfter(_: TreePath, after: string) {
      reads.lists += 1;
      const rest = sorted.filter((name) => name > after);
      for (let at = 0; at < rest.length; at += 100) {
        const part = rest.slice(at, at + 100);
        reads.entries += part.length;
        yield part.map((name) => entryOf(name, "file"));
      }
    },
  };
  return { reader: reader as unknown as FileReader, reads };
}

const names = Array.from({ length: 2000 }, (_, n) => `${String(n).padStart(4, "0")}-${n % 3}`);

test("a folder is read once for all common prefixes of its names", async () => {
  const { reader, reads } = treeOf(names);
  const found: string[] = [];
  const { signal } = new AbortController();
  for await (const batch of keys(reader, { prefix: "", delimiter: "-", after: "", signal }))
    found.push(...batch.map(({ key }) => key));
  expect(found).toEqual(names.map((name) => name.slice(0, 5)));
  expect(reads).toEqual({ lists: 1, entries: names.length });
});

test("a list by folders reads none of what is below them", async () => {
  const read: TreePath[] = [];
  const folder = (path: TreePath) => ({ path, kind: "folder" }) as FileEntry;
  const reader = {
    find: async (path: TreePath) => folder(path),
    async *entriesAfter(path: TreePath, after: string) {
      read.push(path);
      const below = ["a", "b", "c"].filter((name) => name > after);
      yield below.map((name) => folder((path === treeRoot ? name : `${path}/${name}`) as TreePath));
    },
  } as unknown as FileReader;
  const found: string[] = [];
  const { signal } = new AbortController();
  for (const prefix of ["", "b/", "b/c"])
    for await (const batch of keys(reader, { prefix, delimiter: "/", after: "", signal }))
      found.push(...batch.map(({ key }) => key));
  expect(found).toEqual(["a/", "b/", "c/", "b/", "b/a/", "b/b/", "b/c/", "b/c/"]);
  expect(read).toEqual([treeRoot, treePath("b"), treePath("b")]);
});

test("a page of a million keys reads little more than it shows, wherever it begins", async () => {
  const [folders, files] = [1000, 1000].map((count) =>
    Array.from({ length: count }, (_, n) => String(n).padStart(4, "0")),
  ) as [string[], string[]];
  let entries = 0;
  const entry = (path: string) =>
    ({ path, kind: path === treeRoot || !path.includes("/") ? "folder" : "file" }) as FileEntry;
  const reader = {
    find: async (path: TreePath) => entry(path),
    async *entriesAfter(path: TreePath, after: string) {
      const names = path === treeRoot ? folders : files;
      for (let at = names.findIndex((name) => name > after); at !== -1 && at < names.length; at += 100) {
        const batch = names.slice(at, at + 100);
        entries += batch.length;
        yield batch.map((name) => entry(path === treeRoot ? name : `${path}/${name}`));
      }
    },
  } as unknown as FileReader;
  const { signal } = new AbortController();
  for (const after of ["", "0500/0499", "0998/0999"]) {
    const found: string[] = [];
    entries = 0;
    for await (const batch of keys(reader, { prefix: "", delimiter: "", after, signal })) {
      found.push(...batch.filter(({ key }) => !key.endsWith("/")).map(({ key }) => key));
      if (found.length >= 1000) break;
    }
    expect([after, found.length, entries < 1500]).toEqual([after, 1000, true]);
  }
});

test("a list ends when its client has left", async () => {
  const { reader, reads } = treeOf(names);
  const client = new AbortController();
  const list = async () => {
    for await (const _ of keys(reader, { prefix: "", delimiter: "-", after: "", signal: client.signal }))
      client.abort();
  };
  const [outcome] = await Promise.allSettled([list()]);
  expect(outcome).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
  expect(reads.entries).toBeLessThan(500);
});

test("a large folder is read in the order of bytes, a few names at a time", async () => {
  await using folder = await tempFolder();
  const wanted = [...Array.from({ length: 3000 }, (_, n) => `n-${(n * 7919) % 3000}`), "\uff5e", "\u{1f600}"];
  for (const name of wanted) writeFileSync(join(folder.path, name), "");
  const reader = new DiskReader(new PathResolver(folder.path));
  const found: string[] = [];
  for await (const entries of reader.entriesAfter(treeRoot, "n-1"))
    found.push(...entries.map(({ path }) => path));
  const inOrder = wanted.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(found).toEqual(inOrder.filter((name) => name > "n-1"));
});
