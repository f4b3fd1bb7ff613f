import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { filesOf, siteWith } from "../support/bucket.ts";
import { testNode } from "../support/node.ts";
import { mounted } from "../support/webdav-disk.ts";

const error = (code: number, words: RegExp) => ({ code, message: expect.stringMatching(words) });
/** Files and folders below a folder, by name. */
const below = (folder: string) => readdirSync(folder, { recursive: true }).map(String).sort();

for (const [where, place] of [
  ["all buckets", "static"],
  ["one bucket", "static/site"],
  ["a folder of a bucket", "static/site/kept"],
] as const) {
  test(`a full disk of ${where} is told in words, and the old file stays`, async () => {
    await using node = await testNode();
    using disk = await mounted("a full disk", join(node.folder, place), "size=256k");
    if (disk === undefined) return;
    const { folder } = await siteWith(node, { "kept/a.txt": "old" });
    const { upload, refused, read } = filesOf(node);
    const body = "x".repeat(1024 * 1024);
    for (const path of ["kept/a.txt", "kept/new.txt"]) {
      expect(await refused("upload", { path, body })).toMatchObject({
        ...error(101, /^IoError: .*disk is full/),
        data: { path },
      });
    }
    expect(await read("kept/a.txt")).toBe("old");
    expect(below(folder)).toEqual(["kept", "kept/a.txt"]);
    const files = readdirSync(join(node.folder, "static"), { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual(["a.txt"]);
    await upload("kept/a.txt", "small enough");
    expect(await read("kept/a.txt")).toBe("small enough");
  });
}

test("a read-only disk is told in words for every change, and can still be read", async () => {
  await using node = await testNode();
  using disk = await mounted("a read-only disk", join(node.folder, "static/site"), "size=1m");
  if (disk === undefined) return;
  const { folder, get } = await siteWith(node, { "a.txt": "old" });
  const { refused, read, list, upload } = filesOf(node);
  disk.remount("ro");
  for (const [name, params] of [
    ["upload", { path: "a.txt", body: "new" }],
    ["upload", { path: "b/c.txt", body: "new" }],
    ["rename", { from: "a.txt", to: "b.txt" }],
    ["delete", { path: "a.txt" }],
  ] as const) {
    expect({ name, error: await refused(name, params) }).toMatchObject({
      error: error(101, /^IoError: .*read-only/),
    });
  }
  expect([await read("a.txt"), await list(), await (await get("/a.txt")).text()]).toEqual([
    "old",
    ["a.txt"],
    "old",
  ]);
  expect(readdirSync(folder)).toEqual(["a.txt"]);
  disk.remount("rw");
  await upload("a.txt", "new");
  expect(await read("a.txt")).toBe("new");
});

test("a folder that its mode closes to the server is told in words, not as a bug of the server", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, { "shown/a.txt": "a", "hidden/b.txt": "b" });
  const { refused, upload, read } = filesOf(node);
  await upload("first.txt", "so that the folders of the server are there");
  for (const place of [node.folder, join(node.folder, "static")]) await chmod(place, 0o755);
  await chmod(join(folder, "shown"), 0o555);
  await chmod(join(folder, "hidden"), 0o000);
  // Modes do not bind root.
  const root = process.getuid?.() === 0;
  try {
    if (root) process.seteuid?.(65_534);
    const closed = error(101, /^IoError: the server lacks the permission .*mode/);
    expect(await read("shown/a.txt")).toBe("a");
    expect(await refused("delete", { path: "shown/a.txt" })).toMatchObject(closed);
    expect(await refused("rename", { from: "shown/a.txt", to: "shown/b.txt" })).toMatchObject(closed);
    expect(await refused("read", { path: "hidden/b.txt" })).toMatchObject(closed);
    expect(await refused("delete", { path: "hidden/b.txt" })).toMatchObject(closed);
    expect(await refused("rename", { from: "hidden/b.txt", to: "c.txt" })).toMatchObject(closed);
    expect(await refused("upload", { path: "hidden/b.txt", body: "new" })).toMatchObject(closed);
    expect(await refused("upload", { path: "shown/c.txt", body: "new" })).toMatchObject(closed);
    expect(await refused("list", { path: "hidden" })).toMatchObject(closed);
    const response = await get("/hidden/b.txt");
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringMatching(/lacks the permission .*mode/),
    ]);
  } finally {
    if (root) process.seteuid?.(0);
    await chmod(join(folder, "hidden"), 0o755);
    await chmod(join(folder, "shown"), 0o755);
  }
  expect(below(folder)).toEqual(["first.txt", "hidden", "hidden/b.txt", "shown", "shown/a.txt"]);
});

test("a name or a path that is too long for the disk is refused before anything is made", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, { "a.txt": "a" });
  const { refused, remove } = filesOf(node);
  const deep = `${"d".repeat(200)}/`.repeat(25);
  const wide = `${"ä".repeat(100)}/`.repeat(21);
  for (const path of [`${deep}x`, `${wide}x`, "n".repeat(256), "ü".repeat(128), `new/${"n".repeat(256)}`]) {
    const tooLong = { code: 108, data: { reason: "name_too_long" } };
    expect(await refused("upload", { path, body: "x" })).toMatchObject(tooLong);
    expect(await refused("rename", { from: "a.txt", to: path })).toMatchObject(tooLong);
    expect([105, 108]).toContain((await refused("read", { path })).code);
    expect([105, 108]).toContain((await refused("rename", { from: path, to: "b.txt" })).code);
    expect([105, 108]).toContain((await refused("list", { path })).code);
    if (Buffer.byteLength(path) > 4095) expect(await refused("delete", { path })).toMatchObject(tooLong);
    else await remove(path);
    expect([400, 404]).toContain((await get(`/${encodeURI(path)}`)).status);
    expect(readdirSync(folder).map((name) => name.slice(0, 20))).toEqual(["a.txt"]);
  }
});

test("a bucket whose folder was deleted says so, and works again when the folder is back", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, { "a.txt": "a" });
  const { refused, remove, upload, read } = filesOf(node);
  expect((await get("/a.txt")).status).toBe(200);
  await rm(folder, { recursive: true });
  for (const error of [await refused("upload", { path: "a.txt", body: "x" }), await refused("list", {})]) {
    expect(error).toMatchObject({ code: 101, data: { reason: "files_missing" } });
  }
  expect(await refused("read", { path: "a.txt" })).toMatchObject({ code: 105 });
  expect(await refused("rename", { from: "a.txt", to: "b.txt" })).toMatchObject({ code: 105 });
  await remove("a.txt");
  expect((await get("/a.txt")).status).toBe(404);
  expect((await get("/")).status).toBe(404);
  await mkdir(folder);
  await writeFile(join(folder, "b.txt"), "b");
  await upload("a.txt", "again");
  expect([await read("a.txt"), await read("b.txt")]).toEqual(["again", "b"]);
  expect(await (await get("/a.txt")).text()).toBe("again");
});
