import { expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { mounted } from "../support/webdav-disk.ts";

/** The five methods on the bucket `site`. */
function filesOf(node: TestNode) {
  const token = node.superToken;
  const params = (more: object) => ({ token, name: "site", ...more });
  const method = (name: string) => `static-bucket-file_${name}`;
  return {
    upload: (path: string, body: string) => node.call(method("upload"), params({ path, body })),
    read: async (path: string) =>
      Buffer.from(String(await node.call(method("read"), params({ path }))), "base64").toString(),
    rename: (from: string, to: string) => node.call(method("rename"), params({ from, to })),
    remove: (path: string) => node.call(method("delete"), params({ path })),
    list: async (path = "") => {
      const found = await node.call(method("list"), params({ path }));
      return (found as Array<{ path: string }>).map((file) => file.path);
    },
    /** The error of a call that must fail, which tells nothing of the machine outside the bucket. */
    refused: async (name: "upload" | "read" | "rename" | "delete" | "list", more: object) => {
      const error = await node.refused(method(name), params(more));
      for (const place of [node.folder, "static/", "~staging", "/proc/", "errno", "syscall"])
        expect(JSON.stringify({ ...error, data: { ...error.data, path: "" } })).not.toContain(place);
      return error;
    },
  };
}

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

test("a folder where a file is meant, and a file where a folder is meant, are told apart and touched by nothing", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, { "folder/in.txt": "in", "file.txt": "file" });
  const { refused, remove } = filesOf(node);
  const isFolder = error(108, /folder/);
  expect(await refused("upload", { path: "folder", body: "x" })).toMatchObject(isFolder);
  expect(await refused("read", { path: "folder" })).toMatchObject(isFolder);
  expect(await refused("delete", { path: "folder" })).toMatchObject(isFolder);
  expect(await refused("rename", { from: "folder", to: "other" })).toMatchObject(isFolder);
  expect(await refused("rename", { from: "file.txt", to: "folder" })).toMatchObject(isFolder);
  const isFile = error(108, /a file/);
  expect(await refused("upload", { path: "file.txt/x", body: "x" })).toMatchObject(isFile);
  expect(await refused("upload", { path: "file.txt/x/y", body: "x" })).toMatchObject(isFile);
  expect(await refused("rename", { from: "folder/in.txt", to: "file.txt/x" })).toMatchObject(isFile);
  expect(await refused("rename", { from: "file.txt", to: "file.txt/x" })).toMatchObject(isFile);
  expect(await refused("list", { path: "file.txt" })).toMatchObject(isFile);
  expect(await refused("read", { path: "file.txt/x" })).toMatchObject({ code: 105 });
  expect(await refused("rename", { from: "file.txt/x", to: "other" })).toMatchObject({ code: 105 });
  await remove("file.txt/x");
  expect((await get("/file.txt/x")).status).toBe(404);
  expect(below(folder)).toEqual(["file.txt", "folder", "folder/in.txt"]);
  expect(await readFile(join(folder, "file.txt"), "utf8")).toBe("file");
});

test("a name or a path that is too long for the disk is refused before anything is made", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, { "a.txt": "a" });
  const { refused, remove } = filesOf(node);
  const deep = `${"d".repeat(200)}/`.repeat(25);
  const wide = `${"ä".repeat(100)}/`.repeat(21);
  for (const path of [`${deep}x`, `${wide}x`, "n".repeat(256), "ü".repeat(128), `new/${"n".repeat(256)}`]) {
    const tooLong = error(108, /too long/);
    expect(await refused("upload", { path, body: "x" })).toMatchObject(tooLong);
    expect(await refused("rename", { from: "a.txt", to: path })).toMatchObject(tooLong);
    expect([105, 108]).toContain((await refused("read", { path })).code);
    expect([105, 108]).toContain((await refused("rename", { from: path, to: "b.txt" })).code);
    expect([105, 108]).toContain((await refused("list", { path })).code);
    await remove(path);
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
    expect(error.message).toMatch(/bucket's folder/);
    expect([101, 105]).toContain(error.code);
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

test("a file as large as a request can carry is taken as base64, as text and as bytes", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, {});
  const params = { token: node.superToken, name: "site", path: "a" };
  for (const [content, size] of [
    [{ base64: "AAAA".repeat(2.49 * 1024 * 1024) }, 3 * Math.floor(2.49 * 1024 * 1024)],
    [{ body: "x".repeat(9_900_000) }, 9_900_000],
    [{ body: Array(4_900_000).fill(1) }, 4_900_000],
  ] as const) {
    expect(await node.send("static-bucket-file_upload", { ...params, ...content })).toMatchObject({
      result: { success: true },
    });
    expect(statSync(join(folder, "a")).size).toBe(size);
  }
});

const nfc = "Ångström – café ü.txt".normalize("NFC");
const nfd = nfc.normalize("NFD");
const names = [
  nfc,
  nfd,
  "한국어".normalize("NFD"),
  "日本語/ファイル.txt",
  "👩‍👩‍👧‍👦 🏳️‍🌈.png",
  "مرحبا بالعالم.txt",
  "\u202eשלום\u202c.txt",
  "n".repeat(255),
  `${"ü".repeat(127)}n`,
  "😀".repeat(63),
  "with space",
  " both ends ",
  "100%.txt",
  "%2e%2e%2fup",
  "a#b?c&d+e=f;g,h@i!j$k",
  "'single' \"double\" `back`",
  "[x]{y}|^<>*~:",
  "line\nbreak\r\ttab",
  "\u0001\u007f\u0085\u2028\ufeff",
  ".hidden",
  "...",
  "..x/x..",
  "trailing.",
  "-rf",
  "CON",
  "constructor/__proto__",
];

test("names in any language and with any sign are kept as given by upload, list, read, rename, delete and GET", async () => {
  await using node = await testNode();
  const { folder, get } = await siteWith(node, {});
  const { upload, list, read, rename, remove } = filesOf(node);
  const encode = (path: string) => path.split("/").map(encodeURIComponent).join("/");
  for (const name of names) {
    const path = `into/${name}`;
    await upload(path, `I am ${name}`);
    expect(await list()).toEqual([path]);
    expect(existsSync(join(folder, path))).toBe(true);
    expect(await read(path)).toBe(`I am ${name}`);
    expect(await (await get(`/${encode(path)}`)).text()).toBe(`I am ${name}`);
    await rename(path, name);
    expect([await list(), await (await get(`/${encode(name)}`)).text()]).toEqual([[name], `I am ${name}`]);
    await rename(name, path);
    await remove(path);
    expect(await list()).toEqual([]);
    expect((await get(`/${encode(path)}`)).status).toBe(404);
    await rm(join(folder, "into"), { recursive: true });
  }
});

for (const [stored, asked] of [
  [nfc, nfd],
  [nfd, nfc],
] as const) {
  const form = stored === nfc ? "NFC" : "NFD";
  test(`a name stored in ${form} is found by its other form at every door, and stays as it is`, async () => {
    await using node = await testNode();
    const { folder, get } = await siteWith(node, {});
    const { upload, list, read, rename, remove } = filesOf(node);
    const [place, other] = [`${stored}/${stored}`, `${asked}/${asked}`];
    await upload(place, "one");
    expect(await read(other)).toBe("one");
    expect(await (await get(`/${encodeURI(other)}`)).text()).toBe("one");
    expect(await list(asked)).toEqual([place]);
    await upload(other, "two");
    await upload(`${asked}/beside.txt`, "three");
    expect(await list()).toEqual([place, `${stored}/beside.txt`].sort());
    await remove(`${asked}/beside.txt`);
    await rename(other, `${asked}/moved.txt`);
    expect(await list()).toEqual([`${stored}/moved.txt`]);
    await rename(`${asked}/moved.txt`, other);
    expect(await read(place)).toBe("two");
    await remove(other);
    expect([await list(), readdirSync(folder)]).toEqual([[], [stored]]);
  });
}
