import { expect } from "bun:test";
import { filesOf, siteWith } from "../support/bucket.ts";
import { eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const error = (code: number, words: RegExp) => ({ code, message: expect.stringMatching(words) });

eachStore(
  "a folder where a file is meant, and a file where a folder is meant, are told apart and touched by nothing",
  async (store) => {
    await using node = await sharedNode(store);
    const { stored, get } = await siteWith(node, { "folder/in.txt": "in", "file.txt": "file" });
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
    expect(await stored.contents()).toEqual({ "file.txt": "file", "folder/": "", "folder/in.txt": "in" });
  },
);

eachStore(
  "a file as large as a request can carry is taken as base64, as text and as bytes",
  async (store) => {
    await using node = await sharedNode(store);
    const { stored } = await siteWith(node, {});
    const params = { token: node.superToken, name: node.bucket, path: "a" };
    for (const [content, size] of [
      [{ base64: "AAAA".repeat(2.49 * 1024 * 1024) }, 3 * Math.floor(2.49 * 1024 * 1024)],
      [{ body: "x".repeat(9_900_000) }, 9_900_000],
      [{ body: Array(4_900_000).fill(1) }, 4_900_000],
    ] as const) {
      expect(await node.send("static-bucket-file_upload", { ...params, ...content })).toMatchObject({
        result: { success: true },
      });
      expect((await stored.stats("a")).size).toBe(size);
    }
  },
);

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

eachStore(
  "names in any language and with any sign are kept as given by upload, list, read, rename, delete and GET",
  async (store) => {
    await using node = await sharedNode(store);
    const { stored, get } = await siteWith(node, {});
    const { upload, list, read, rename, remove } = filesOf(node);
    const encode = (path: string) => path.split("/").map(encodeURIComponent).join("/");
    for (const name of names) {
      const path = `into/${name}`;
      await upload(path, `I am ${name}`);
      expect(await list()).toEqual([path]);
      expect(await stored.paths()).toContain(path);
      expect(await read(path)).toBe(`I am ${name}`);
      expect(await (await get(`/${encode(path)}`)).text()).toBe(`I am ${name}`);
      await rename(path, name);
      expect([await list(), await (await get(`/${encode(name)}`)).text()]).toEqual([[name], `I am ${name}`]);
      await rename(name, path);
      await remove(path);
      expect(await list()).toEqual([]);
      expect((await get(`/${encode(path)}`)).status).toBe(404);
      await stored.remove("into");
    }
  },
);

for (const [stored, asked] of [
  [nfc, nfd],
  [nfd, nfc],
] as const) {
  const form = stored === nfc ? "NFC" : "NFD";
  eachStore(
    `a name stored in ${form} is found by its other form by every method, and stays as it is`,
    async (store) => {
      await using node = await sharedNode(store);
      const { stored: files, get } = await siteWith(node, {});
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
      expect([await list(), await files.names()]).toEqual([[], [stored]]);
    },
  );
}

for (const kind of ["objects over sqlite", "objects over postgres"] as const)
  test(`a path of 4,095 bytes is kept, read, listed, moved and deleted, and a longer one is refused (${kind})`, async () => {
    await using node = await testNode({ store: kind });
    const { get } = await siteWith(node, {});
    const { upload, list, read, rename, remove, refused } = filesOf(node);
    const deep = `${"d".repeat(200)}/`.repeat(20);
    const wide = `${"ä".repeat(100)}/`.repeat(20);
    const longest = `${deep}${"x".repeat(4095 - deep.length)}`;
    await upload(`${deep}x`, "deep");
    expect([await list(), await read(`${deep}x`)]).toEqual([[`${deep}x`], "deep"]);
    await rename(`${deep}x`, `${wide}x`);
    expect([await list(wide), await read(`${wide}x`)]).toEqual([[`${wide}x`], "deep"]);
    expect(await (await get(`/${encodeURI(wide)}x`)).text()).toBe("deep");
    await remove(`${wide}x`);
    await upload(longest, "longest");
    expect([await list(), await read(longest)]).toEqual([[longest], "longest"]);
    await rename(longest, "x");
    // One request that made thousands of folders took all memory.
    for (const path of [`${longest}x`, `${wide}${"ä".repeat(38)}`, `${"a/".repeat(20_000)}x`])
      for (const [method, params] of [
        ["upload", { path, body: "x" }],
        ["rename", { from: "x", to: path }],
        ["delete", { path }],
      ] as const)
        expect(await refused(method, params)).toMatchObject(error(108, /4095 bytes/));
    await remove("x");
    expect(await list()).toEqual([]);
    for (const path of ["n".repeat(256), "ü".repeat(128), `new/${"n".repeat(256)}`])
      expect(await refused("upload", { path, body: "x" })).toMatchObject(error(108, /255 bytes/));
    expect(await list()).toEqual([]);
  });
