import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { siteWith } from "../support/bucket.ts";
import { type TestNode, tempFolder, testNode, type WireReply } from "../support/node.ts";
import { scaled, tier } from "../support/tier.ts";
import { within } from "../support/until.ts";
import { largeBytes, swapping } from "./link-swaps.ts";

const secret = "SECRET";

/** A folder that no bucket holds, with the names that the bucket has, and one of its own. */
async function outsideFolder() {
  const folder = await tempFolder();
  const at = (name: string) => join(folder.path, name);
  await mkdir(at("sub"));
  for (const name of ["a.txt", "b.txt", "index.html", "only-outside.txt", "sub/a.txt"])
    await writeFile(at(name), `${secret} ${name}`);
  await writeFile(at("large.bin"), secret.repeat(largeBytes / secret.length));
  const look = () =>
    below(folder.path).map((name) => {
      const { ino, size, mtimeMs, ctimeMs } = statSync(at(name));
      return { name, ino, size, mtimeMs, ctimeMs };
    });
  const before = look();
  return Object.assign(folder, { at, expectUntouched: () => expect(look()).toEqual(before) });
}

const below = (folder: string) => readdirSync(folder, { recursive: true }).map(String).sort();

type Reply = Pick<WireReply, "error" | "result">;

/** The doors of the bucket `site`. What they answer is no error, or one with a code or a status. */
function doorsOf(node: TestNode) {
  const send = (name: string, params: object): Promise<Reply> =>
    node.send(`static-bucket-file_${name}`, { token: node.superToken, name: "site", ...params });
  return {
    upload: (path: string, body = "mine") => send("upload", { path, body }),
    rename: (from: string, to: string) => send("rename", { from, to }),
    remove: (path: string) => send("delete", { path }),
    list: (path = "") => send("list", { path }),
    read: async (path: string): Promise<Reply> => {
      const { error, result } = await send("read", { path });
      return error === undefined ? { result: Buffer.from(String(result), "base64").toString() } : { error };
    },
    get: async (path: string): Promise<Reply> => {
      const response = await fetch(`${node.url}/node/static/site/${path}`, { redirect: "manual" });
      const text = await response.text();
      return response.ok ? { result: text } : { error: { code: response.status, message: text, data: {} } };
    },
  };
}

test(scaled(
  "links that are swapped in during calls lead nowhere: nothing outside is read, listed, written, moved or deleted",
), async () => {
  await using node = await testNode();
  await using outside = await outsideFolder();
  const { folder } = await siteWith(node, { "docs/a.txt": "mine", "real/a.txt": "mine" });
  const { upload, rename: move, remove, list, read, get } = doorsOf(node);
  const told = new Set<string>();
  const bugs = new Set<string>();
  const outcomes = { done: 0, refused: 0 };
  const hear = async (what: string, calling: Promise<Reply>) => {
    const { error, result } = await calling;
    const text = error?.message ?? JSON.stringify(result);
    if (text.includes(secret) || text.includes("only-outside")) told.add(`${what}: ${text.slice(0, 100)}`);
    if (error?.code === -32603 || error?.code === 500) bugs.add(what);
    outcomes[error === undefined ? "done" : "refused"] += 1;
    return String(result ?? "");
  };
  const round = (number: number) => [
    ...["docs/", "linked/", ""].flatMap((at) => [
      hear(`upload ${at}a.txt`, upload(`${at}a.txt`)),
      hear(`upload ${at}new.txt`, upload(`${at}new-${number % 9}.txt`)),
      hear(`upload ${at}sub/new.txt`, upload(`${at}sub/new-${number % 9}.txt`)),
      hear(`upload ${at}made/new.txt`, upload(`${at}made-${number}/new.txt`)),
      hear(`read ${at}a.txt`, read(`${at}a.txt`)),
      hear(`read ${at}only-outside.txt`, read(`${at}only-outside.txt`)),
      hear(`list ${at}`, list(at)),
      hear(
        `rename ${at}b.txt`,
        upload(`${at}b.txt`).then(() => move(`${at}b.txt`, "moved.txt")),
      ),
      hear(`rename ${at}only-outside.txt`, move(`${at}only-outside.txt`, "moved.txt")),
      hear(`rename to ${at}moved.txt`, move("moved.txt", `${at}moved-${number % 9}.txt`)),
      hear(`delete ${at}a.txt`, remove(`${at}a.txt`)),
      hear(`delete ${at}index.html`, remove(`${at}index.html`)),
      hear(`GET ${at}a.txt`, get(`${at}a.txt`)),
      hear(`GET ${at}only-outside.txt`, get(`${at}only-outside.txt`)),
      hear(`GET ${at}`, get(at)),
    ]),
    ...[read, get].flatMap((door) => [
      hear(`${door.name} pipe`, door("pipe")),
      hear(`${door.name} large.bin`, door("large.bin")).then((text) =>
        expect([0, largeBytes]).toContain(text.length),
      ),
    ]),
  ];
  {
    await using _ = await swapping(folder, outside.path, join(node.folder, "spare"));
    for (let number = 0; number < (tier === "fast" ? 10 : 40); number += 1)
      await within(`the calls of round ${number} are answered`, Promise.all(round(number)));
  }
  expect([...told]).toEqual([]);
  outside.expectUntouched();
  console.log(`${outcomes.done} calls done, ${outcomes.refused} refused while links came and went`);
  // Otherwise the links were never in the way, or always.
  expect(Math.min(outcomes.done, outcomes.refused)).toBeGreaterThan(100);
  // What stood in the way was no bug of the server, and is not told as one.
  expect([...bugs].sort()).toEqual([]);
  // The 40 rounds of the other tiers take longer than other stories.
}, 60_000);

test("links that lead out of the bucket, nowhere or in circles are no way for any method, wherever they stand in a path", async () => {
  await using node = await testNode();
  await using outside = await outsideFolder();
  const { folder } = await siteWith(node, { "in/file.txt": "mine", "mine.txt": "mine" });
  await mkdir(join(node.folder, "static/site-2"));
  await writeFile(join(node.folder, "static/site-2/a.txt"), `${secret} of a neighbour`);
  const link = (target: string, name: string) => symlinkSync(target, join(folder, name));
  link(outside.path, "out");
  link(outside.path, "in/out");
  link("../in/out", "in/twice");
  link("../../site-2", "in/neighbour");
  link("/proc/self/root", "in/root");
  link(outside.at("a.txt"), "in/last.txt");
  link(outside.at("made-by-link"), "dangling");
  link("loop", "loop");
  link("in/../pong", "ping");
  link("ping", "pong");
  const { upload, rename: move, remove, list, read, get } = doorsOf(node);
  const namesNow = () => [folder, join(folder, "in")].map((place) => readdirSync(place).sort());
  const before = namesNow();
  const farFile = `in/root${outside.at("a.txt")}`;
  const [through, last] = [
    ["out/a.txt", "out/sub/a.txt", "in/out/a.txt", "in/twice/a.txt", "in/neighbour/a.txt", farFile],
    ["in/last.txt", "dangling", "loop", "ping"],
  ];
  for (const path of [...through, ...last, "dangling/x", "loop/x", "ping/x"]) {
    const codes = [await read(path), await get(path), await move(path, "stolen.txt"), await list(path)];
    expect([path, ...codes.map(({ error }) => error?.code)]).toEqual([path, 105, 404, 105, 105]);
    for (const { error } of [await upload(path, "bad"), await move("mine.txt", path)])
      expect([path, [105, 108].includes(error?.code ?? 0), error?.message]).toEqual([
        path,
        true,
        error?.message,
      ]);
    await remove(path);
  }
  for (const path of ["out", "in/out", "in/twice", "in/neighbour", "in/root"]) {
    for (const { error } of [await list(path), await upload(`${path}/new/file.txt`), await read(path)])
      expect([path, error?.code]).toEqual([path, 105]);
    expect([path, (await get(`${path}/`)).error?.code]).toEqual([path, 404]);
  }
  outside.expectUntouched();
  expect(readdirSync(join(node.folder, "static/site-2"))).toEqual(["a.txt"]);
  expect(namesNow()).toEqual(before);
  expect(readFileSync(join(folder, "mine.txt"), "utf8")).toBe("mine");
  expect(await list()).toMatchObject({ result: [{ path: "in/file.txt" }, { path: "mine.txt" }] });
});

test("a link that stays in the bucket is followed to folders and files, but never written through or listed", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "real/a.txt": "a", "real/b.txt": "b" });
  symlinkSync("real", join(folder, "current"));
  symlinkSync("../real/b.txt", join(folder, "real/alias.txt"));
  const { upload, rename: move, remove, list, read, get } = doorsOf(node);
  for (const [path, content] of [
    ["current/a.txt", "a"],
    ["real/alias.txt", "b"],
    ["current/alias.txt", "b"],
  ] as const) {
    expect([path, (await read(path)).result, (await get(path)).result]).toEqual([path, content, content]);
  }
  expect((await upload("real/alias.txt", "through")).error?.code).toBe(108);
  expect((await read("real/b.txt")).result).toBe("b");
  for (const reply of [await upload("current/c.txt", "c"), await move("current/c.txt", "current/d.txt")])
    expect(reply).toHaveProperty("result.success", true);
  expect(await remove("current/a.txt")).toHaveProperty("result.success", true);
  expect(await list()).toMatchObject({ result: [{ path: "real/b.txt" }, { path: "real/d.txt" }] });
  await remove("real/alias.txt");
  expect((await read("real/b.txt")).result).toBe("b");
});

test("a bucket whose own folder is a link works, and is left by no link either", async () => {
  await using node = await testNode();
  await using outside = await outsideFolder();
  const { folder } = await siteWith(node, { "a.txt": "mine" });
  await rename(folder, join(node.folder, "elsewhere"));
  symlinkSync(join(node.folder, "elsewhere"), folder);
  symlinkSync(outside.path, join(folder, "out"));
  const { upload, rename: move, remove, list, read, get } = doorsOf(node);
  expect([(await read("a.txt")).result, (await get("a.txt")).result]).toEqual(["mine", "mine"]);
  await upload("new/b.txt", "b");
  await move("new/b.txt", "c.txt");
  await remove("a.txt");
  expect(await list()).toMatchObject({ result: [{ path: "c.txt", size: 1 }] });
  const refused = [await read("out/a.txt"), await upload("out/b.txt"), await get("out/a.txt")];
  expect(refused.map(({ error }) => error?.code)).toEqual([105, 105, 404]);
  await remove("out/a.txt");
  outside.expectUntouched();
});

test("FIFOs, sockets and devices in a bucket are not there for any method, and hold up nobody", async () => {
  await using node = await testNode();
  const { folder } = await siteWith(node, { "a.txt": "a" });
  const { upload, rename: move, remove, list, read, get } = doorsOf(node);
  Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
  const server = createServer();
  await new Promise<void>((listening) => server.listen(join(folder, "socket"), listening));
  // Whoever reads from this one never comes to an end.
  const mknod = process.getuid?.() === 0 ? "mknod" : "sudo -n mknod";
  if (Bun.spawnSync(["sh", "-c", `${mknod} "$0" c 1 5`, join(folder, "zeros")]).exitCode !== 0)
    console.log("note: a device in a bucket is not shown, because none may be made here");
  try {
    const present = readdirSync(folder).sort();
    for (const name of present.filter((name) => name !== "a.txt")) {
      const codes = async () => [
        (await read(name)).error?.code,
        (await get(name)).error?.code,
        (await upload(name)).error?.code,
        (await move("a.txt", name)).error?.code,
        (await move(name, "b.txt")).error?.code,
        (await list(name)).error?.code,
        (await remove(name)).error?.code,
      ];
      const answers = await within(`${name} is answered for`, codes());
      expect([name, ...answers]).toEqual([name, 105, 404, 108, 108, 105, 105, undefined]);
    }
    expect(await list()).toMatchObject({ result: [{ path: "a.txt" }] });
    expect(readdirSync(folder).sort()).toEqual(present);
  } finally {
    server.close();
  }
});
