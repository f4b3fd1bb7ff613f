import { expect, test } from "bun:test";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { exchangeFolders } from "../../src/base/local-fs/folder.ts";
import { BucketFiles } from "../../src/buckets/bucket-files.ts";
import { copyBucket } from "../../src/buckets/copy-bucket.ts";
import { folderPath, treePath } from "../../src/buckets/path.ts";
import { filesBelow } from "../../src/buckets/tree-ops.ts";
import { DiskTree } from "../../src/buckets/trees/disk/disk-tree.ts";
import { Staging } from "../../src/buckets/trees/disk/staging.ts";
import type { DeployChanges } from "../../src/db/rows/deploy-rows.ts";
import { openTestDatabase } from "../support/database.ts";
import { diskHistory, noConditions } from "../support/disk-buckets.ts";
import { tempFolder } from "../support/node.ts";
import { objectNodes } from "../support/object-store.ts";

async function diskStore({
  sync = false,
  exchange = exchangeFolders,
}: {
  readonly sync?: boolean;
  readonly exchange?: typeof exchangeFolders;
} = {}) {
  const folder = await tempFolder();
  const root = join(folder.path, "site");
  mkdirSync(root);
  const staging = new Staging(join(folder.path, "staging"));
  const database = await openTestDatabase("sqlite");
  const store = new DiskTree(root, {
    staging,
    sync,
    stopping: new AbortController().signal,
    bucket: { name: "site", path: "site" },
    metadata: database.metadata("site"),
    history: diskHistory({ staticPath: folder.path, staging, sync, exchange }),
    onChanged() {},
  });
  return {
    store,
    root,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("a path is resolved to its canonical path, with what exists there and above it", async () => {
  await using disk = await diskStore();
  mkdirSync(join(disk.root, "real/deep"), { recursive: true });
  writeFileSync(join(disk.root, "real/file"), "text");
  symlinkSync("real", join(disk.root, "link"));
  symlinkSync("/", join(disk.root, "out"));
  const resolved = async (text: string) => {
    const { requested, path, entry, parent } = await disk.store.reader.resolve(folderPath(text));
    return `${requested} is ${path}: ${entry?.kind ?? "nothing"} in ${parent?.kind ?? "nothing"}`;
  };
  expect(await resolved("")).toBe(" is : folder in nothing");
  expect(await resolved("real")).toBe("real is real: folder in folder");
  expect(await resolved("link/file")).toBe("link/file is real/file: file in folder");
  expect(await resolved("link/new")).toBe("link/new is real/new: nothing in folder");
  expect(await resolved("link/file/x")).toBe("link/file/x is real/file/x: nothing in file");
  expect(await resolved("no/new")).toBe("no/new is no/new: nothing in nothing");
  expect(await resolved("out/etc")).toBe("out/etc is out/etc: nothing in nothing");
});

test("a file is written and replaced whether its folder, the folder of uploads or the file itself is there or not", async () => {
  await using disk = await diskStore();
  const { store, root } = disk;
  const write = async (path: string, content: string | Uint8Array, makeParents = true) => {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    await using staged = await store.stage(bytes, treePath(path));
    return await store.transact([treePath(path)], (transaction, [resolved]) =>
      transaction.put(staged, resolved.path, { makeParents }),
    );
  };
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  expect((await write("new/folder/a.txt", "first")).size).toBe(5);
  expect((await write("new/folder/a.txt", "second")).size).toBe(6);
  expect(read("new/folder/a.txt")).toBe("second");
  rmSync(join(root, "../staging"), { recursive: true });
  await write("new/folder/a.txt", "third");
  expect(read("new/folder/a.txt")).toBe("third");
  await write("new/long.bin", new Uint8Array(100_000));
  expect(read("new/long.bin").length).toBe(100_000);
  await expect(write("no/a.txt", "x", false)).rejects.toMatchObject({ kind: "NotFound" });
  expect(readdirSync(join(root, "../staging"))).toEqual([]);
});

test("a file is put neither through a link that leads out, nor in the place of a folder, a link or a FIFO", async () => {
  await using disk = await diskStore();
  const { store, root } = disk;
  mkdirSync(join(root, "../outside"));
  mkdirSync(join(root, "inside/folder"), { recursive: true });
  symlinkSync("../outside", join(root, "out"));
  symlinkSync("inside", join(root, "in"));
  symlinkSync("nothing", join(root, "inside/dangling"));
  Bun.spawnSync(["mkfifo", join(root, "inside/fifo")]);
  const write = async (path: string) => {
    await using staged = await store.stage(Buffer.from("text"), treePath(path));
    return await store.transact([treePath(path)], (transaction, [resolved]) =>
      transaction.put(staged, resolved.path, { makeParents: true }),
    );
  };
  await expect(write("out/a.txt")).rejects.toMatchObject({ kind: "NotFound" });
  expect(readdirSync(join(root, "../outside"))).toEqual([]);
  for (const name of ["folder", "dangling", "fifo"])
    await expect(write(`inside/${name}`)).rejects.toThrow("choose another");
  await write("in/a.txt");
  expect(readdirSync(join(root, "inside")).sort()).toEqual(["a.txt", "dangling", "fifo", "folder"]);
});

test("a change whose folder became a link while it waited takes its turn where the link leads", async () => {
  await using disk = await diskStore();
  const { store, root } = disk;
  for (const name of ["a", "b"]) mkdirSync(join(root, name));
  const events: string[] = [];
  const hold = (path: string) => {
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const done = store.transact([treePath(path)], async () => {
      begun.resolve();
      await released.promise;
      events.push(`${path} released`);
    });
    return { begun: begun.promise, release: released.resolve, done };
  };
  /** Takes much longer than a waiting change needs for its next step. */
  const looks = async () => {
    for (let at = 0; at < 100; at += 1) await store.reader.resolve(treePath("a/x"));
  };
  const [first, other] = [hold("a/x"), hold("b/x")];
  await Promise.all([first.begun, other.begun]);
  await using staged = await store.stage(Buffer.from("new"), treePath("a/x"));
  const waiting = store.transact([treePath("a/x")], async (transaction, [{ path }]) => {
    events.push(`writes ${path}`);
    await transaction.put(staged, path, { makeParents: false });
  });
  await looks();
  renameSync(join(root, "a"), join(root, "old"));
  symlinkSync("b", join(root, "a"));
  first.release();
  await looks();
  other.release();
  await Promise.all([first.done, other.done, waiting]);
  expect(events).toEqual(["a/x released", "b/x released", "writes b/x"]);
  expect(readFileSync(join(root, "b/x"), "utf8")).toBe("new");
});

test("a switch of trees is noted on the disk before the folders are exchanged, and after it", async () => {
  const events: string[] = [];
  const exchanging = {
    sync: true,
    exchange: (...paths: Parameters<typeof exchangeFolders>) => {
      events.push("exchange");
      exchangeFolders(...paths);
    },
  };
  await using published = await diskStore(exchanging);
  await using prepared = await diskStore();
  const note = (event: string) => async () => void events.push(event);
  await published.store.exchangeWith(prepared.store, {
    transact: (work) => work({} as DeployChanges),
    check: note("check"),
    begin: note("begin"),
    commit: note("commit"),
    cancel: note("cancel"),
    flush: note("flush"),
  });
  expect(events).toEqual(["check", "begin", "flush", "exchange", "commit", "flush"]);
});

test("folders of every size are listed whole, in order and without what no path can name", async () => {
  await using disk = await diskStore();
  for (const count of [0, 1, 128, 129, 3000]) {
    const folder = join(disk.root, `of-${count}`);
    mkdirSync(folder);
    const names = Array.from({ length: count }, (_, at) => `a name of some length, number ${at}.txt`);
    for (const name of names) writeFileSync(join(folder, name), "x");
    writeFileSync(join(folder, ".~staged-1"), "");
    const path = treePath(`of-${count}`);
    const expected = names.sort().map((name) => `${path}/${name}`);
    expect((await filesBelow(disk.store.reader, path)).map((file) => file.path as string)).toEqual(expected);
    const listed: string[] = [];
    for await (const entries of disk.store.reader.entries(path))
      listed.push(...entries.map((each) => each.path));
    expect(listed).toEqual(expected);
  }
});

test("a record that is stored with content goes along to every other store, and comes back", async () => {
  await using disk = await diskStore();
  await using back = await diskStore({ sync: true });
  await using nodes = await objectNodes("sqlite");
  const { store: objects } = await nodes.open();
  const path = treePath("a");
  const record = Buffer.from([1, 0, 255]);
  await using staged = await disk.store.stage(Buffer.from("text"), path, () => record);
  await disk.store.transact([path], (transaction) => transaction.put(staged, path, { makeParents: true }));
  const copy = (source: typeof objects | DiskTree, target: typeof objects | DiskTree) =>
    copyBucket({
      source: source.reader,
      target,
      deletesOthers: false,
      meter: { add() {}, fileDone() {} },
      signal: new AbortController().signal,
    });
  const recordIn = async ({ reader }: typeof objects | DiskTree) => {
    await using file = await reader.open(path);
    return Buffer.from(file.stats.record ?? []);
  };
  expect(await copy(disk.store, objects)).toMatchObject({ copied: 1, failures: [] });
  expect(await recordIn(objects)).toEqual(record);
  expect(await copy(objects, back.store)).toMatchObject({ copied: 1, failures: [] });
  expect(await recordIn(back.store)).toEqual(record);
  expect(await copy(objects, back.store)).toMatchObject({ copied: 0, unchanged: 1 });
  expect(await recordIn(back.store)).toEqual(record);
  // Another program that changes the file does not know of the record.
  writeFileSync(join(back.root, "a"), "other");
  expect(await recordIn(back.store)).toHaveLength(0);
});

/** The same object with other members. */
function withMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (name in members) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("of many changes, those that were done before the client left are answered", async () => {
  await using disk = await diskStore();
  const { store, root } = disk;
  const names = Array.from({ length: 40 }, (_, at) => `${at}.txt`);
  for (const name of names) writeFileSync(join(root, name), name);
  const client = new AbortController();
  const leaving = withMembers(store, {
    transact: (paths, work, changes) =>
      store.transact(
        paths,
        (transaction, resolved) => {
          const move: typeof transaction.move = async (...of) => {
            const failures = await transaction.move(...of);
            client.abort();
            return failures;
          };
          return work(withMembers(transaction, { move }), resolved);
        },
        changes,
      ),
  });
  const outcomes = await new BucketFiles(leaving, store.metadata).moveMany(
    names.map((name) => ({ from: treePath(name), to: treePath(`moved/${name}`) })),
    {
      conditions: noConditions,
      isOver: () => false,
      overwrite: false,
      makeParents: true,
      signal: client.signal,
    },
  );
  const moved = names.filter((_, at) => "done" in (outcomes[at] ?? {}));
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.length).toBeLessThan(40);
  expect(readdirSync(join(root, "moved")).sort()).toEqual(moved.sort());
});
