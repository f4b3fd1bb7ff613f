import { expect } from "bun:test";
import { type Database, openDatabase } from "../../src/db/database.ts";
import type { FileValue, FolderValue } from "../../src/db/rows/entry-values.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, type DatabaseKind, migratedDatabase, tempFolder } from "../support/node.ts";

async function openTree(kind: DatabaseKind): Promise<{ database: Database; root: string } & AsyncDisposable> {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const database = await openDatabase(settingsFor(url), new LogHub(), { create: true });
  const { root } = await database.transact((transaction) => database.heads.create("site", transaction));
  return {
    database,
    root,
    async [Symbol.asyncDispose]() {
      await database.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const times = { modified: 1000, created: 1000, version: 1 };
const fileOf = (text: string): FileValue => ({
  blob: `blob of ${text}`,
  hash: text,
  size: text.length,
  ...times,
});
const folderOf = (id: string): FolderValue => ({ id, ...times });

bothDatabases("names are followed from the top in one statement, as far as they exist", async (kind) => {
  await using tree = await openTree(kind);
  const { entries, heads } = tree.database;
  await entries.put(tree.root, "a", folderOf("one"));
  await entries.put("one", "b", folderOf("two"));
  await entries.put("two", "c.txt", fileOf("c"));
  expect(await entries.follow("other", ["a"])).toBeUndefined();
  const names = async (...path: string[]) =>
    (await entries.follow("site", path))?.entries.map(({ name }) => name);
  expect(await names()).toEqual([]);
  expect(await names("a", "b", "c.txt")).toEqual(["a", "b", "c.txt"]);
  expect(await names("a", "B", "c.txt")).toEqual(["a"]);
  expect(await names("a", "b", "c.txt", "d")).toEqual(["a", "b", "c.txt"]);
  expect(await names("b")).toEqual([]);
  const found = await entries.follow("site", ["a", "b", "c.txt"]);
  expect(found?.entries.at(-1)?.value).toEqual(fileOf("c"));
  expect(found?.head).toEqual(await heads.read("site"));
});

bothDatabases("a path of 200 folders is followed to its end", async (kind) => {
  await using tree = await openTree(kind);
  const { entries } = tree.database;
  const path = Array.from({ length: 200 }, (_, at) => `f${at}`);
  for (const [at, name] of path.entries())
    await entries.put(at === 0 ? tree.root : `id${at - 1}`, name, folderOf(`id${at}`));
  expect((await entries.follow("site", path))?.entries.map(({ name }) => name)).toEqual(path);
  expect((await entries.follow("site", [...path, "x"]))?.entries).toHaveLength(200);
  expect((await entries.follow("site", path.toSpliced(130, 1, "x")))?.entries).toHaveLength(130);
});

bothDatabases("a folder of 2,500 entries is listed and copied in batches", async (kind) => {
  await using tree = await openTree(kind);
  const { entries } = tree.database;
  const names = Array.from({ length: 2500 }, (_, at) => `file ${at}`);
  await tree.database.transact(async (transaction) => {
    const inside = entries.within(transaction);
    for (const name of names) await inside.put("many", name, fileOf(name));
    await inside.put("many", "folder", folderOf("inner"));
    await inside.copyFiles("many", "copy", { version: 7, created: 2000 });
  });
  const listed = async (folder: string) => {
    const rows = [];
    for await (const batch of entries.list(folder)) rows.push(...batch);
    return rows;
  };
  expect((await listed("many")).map(({ name }) => name).sort()).toEqual([...names, "folder"].sort());
  const copied = await listed("copy");
  expect(copied).toHaveLength(2500);
  expect(copied.find(({ name }) => name === "file 3")?.value).toEqual({
    ...fileOf("file 3"),
    version: 7,
    created: 2000,
  });
  expect((await entries.folders("many")).map(({ name }) => name)).toEqual(["folder"]);
  expect(await entries.isEmpty("copy")).toBe(false);
  expect(await entries.isEmpty("nothing")).toBe(true);
});

bothDatabases("a head is created once, and its version is known to all", async (kind) => {
  await using tree = await openTree(kind);
  const { heads } = tree.database;
  await tree.database.transact(async (transaction) => {
    const { head, nowMs } = await heads.lock("site", transaction);
    expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
    if (head === undefined) throw new Error("the head is missing");
    await heads.write("site", { ...head, version: 5 }, transaction);
  });
  const again = await tree.database.transact((transaction) => heads.create("site", transaction));
  expect(again).toMatchObject({ version: 5, root: tree.root });
  expect(await heads.versions()).toEqual(new Map([["site", 5]]));
  expect(heads.readSync("site")?.version).toBe(kind === "sqlite" ? 5 : undefined);
  await tree.database.flush();
});
