import { expect } from "bun:test";
import { lstatSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eachStore, tempFolder, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";
import { test } from "../support/test.ts";
import { scaled, tier } from "../support/tier.ts";
import { type Contents, contentsOf, hrefs, openSite, staged } from "../support/webdav-disk.ts";

const sharedNode = sharedNodes();

eachStore(
  "COPY and MOVE put a file or a folder over a file or a folder, whole, or leave both alone with Overwrite: F",
  async (store) => {
    await using node = await sharedNode(store);
    const { to, write, contents, dav, uploads } = await storedSite(node);
    const trees = {
      file: (name: string) => ({ [name]: "one file" }),
      folder: (name: string) => ({
        [`${name}/`]: "",
        [`${name}/in.txt`]: "in",
        [`${name}/deep/`]: "",
        [`${name}/deep/er.txt`]: "er",
      }),
      nothing: () => ({}),
    };
    const others = {
      file: (name: string) => ({ [name]: "another file" }),
      folder: (name: string) => ({
        [`${name}/`]: "",
        [`${name}/old.txt`]: "old",
        [`${name}/deep/`]: "",
        [`${name}/deep/old.txt`]: "old",
      }),
      nothing: () => ({}),
    };
    const put = (tree: Contents) =>
      write(Object.fromEntries(Object.entries(tree).filter(([path]) => !path.endsWith("/"))));
    for (const method of ["COPY", "MOVE"] as const)
      for (const source of ["file", "folder"] as const)
        for (const target of ["file", "folder", "nothing"] as const)
          for (const overwrite of ["T", "F", undefined]) {
            const [from, old, now] = [
              trees[source]("from"),
              others[target]("to"),
              trees[source]("to"),
            ] as const;
            await put({ ...from, ...old });
            const status = await to(method, "/from", "/to", overwrite === undefined ? {} : { overwrite });
            const refused = overwrite === "F" && target !== "nothing";
            expect([method, source, target, overwrite, status]).toEqual([
              ...[method, source, target, overwrite],
              refused ? 412 : target === "nothing" ? 201 : 204,
            ]);
            const kept = refused || method === "COPY" ? from : {};
            expect(await contents()).toEqual({ ...kept, ...(refused ? old : now) });
            expect(uploads()).toEqual([]);
            for (const path of ["/from", "/to"]) await dav("DELETE", path);
            expect(await contents()).toEqual({});
          }
  },
);

eachStore(
  "COPY of a folder with Depth 0 makes the folder alone, also over one that holds something; Depth 1 is refused",
  async (store) => {
    await using node = await sharedNode(store);
    const { to, contents } = await storedSite(node, { "from/a.txt": "a", "to/old.txt": "old" });
    expect(await to("COPY", "/from", "/new", { depth: "0" })).toBe(201);
    expect(await to("COPY", "/from", "/to", { depth: "0" })).toBe(204);
    expect(await to("COPY", "/from", "/other", { depth: "1" })).toBe(400);
    expect(await to("MOVE", "/from", "/other", { depth: "0" })).toBe(400);
    expect(await to("COPY", "/from/a.txt", "/to/a.txt", { depth: "0" })).toBe(201);
    expect(await contents()).toEqual({
      "from/": "",
      "from/a.txt": "a",
      "new/": "",
      "to/": "",
      "to/a.txt": "a",
    });
  },
);

/** The copies of 10,000 files, which the other tiers make, take longer than other stories. */
const manyFilesMs = tier === "fast" ? undefined : 60_000;

eachStore(
  scaled("thousands of files are copied, moved and deleted as one"),
  async (store) => {
    await using node = await testNode({ ...store, top: "sync_uploads = false\n" });
    const { to, write, contents, contentFile, exists, dav, uploads } = await storedSite(node);
    // One folder of files, and copies of it: 10,000 files on a disk, and 1,000 where fewer do.
    const folders = node.store === "disk" && tier !== "fast" ? 100 : 10;
    await write(
      Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`from/0/${at}.txt`, `file ${at}`])),
    );
    for (let at = 1; at < folders; at += 1) expect(await to("COPY", "/from/0", `/from/${at}`)).toBe(201);
    const whole = await contents("from");
    const file = await contentFile("from/7/7.txt");
    const inode = lstatSync(file).ino;
    expect(await to("COPY", "/from", "/copy")).toBe(201);
    const copied = await contents("copy");
    expect([Object.keys(whole).length, Bun.deepEquals(copied, whole)]).toEqual([folders * 101, true]);
    expect(await to("MOVE", "/from", "/copy")).toBe(204);
    expect([await exists("from"), Bun.deepEquals(await contents("copy"), whole)]).toEqual([false, true]);
    // The very files, by a rename of their folder, not copies of them.
    expect(lstatSync(await contentFile("copy/7/7.txt")).ino).toBe(inode);
    expect((await dav("DELETE", "/copy")).status).toBe(204);
    expect([await contents(), uploads()]).toEqual([{}, []]);
  },
  manyFilesMs,
);

test("links and special files inside a folder are not followed: not copied, moved as they are, deleted without what they point to", async () => {
  await using node = await sharedNode();
  await using outside = await tempFolder();
  writeFileSync(join(outside.path, "secret.txt"), "secret");
  const { to, at, contents, dav } = await openSite(node, { "from/a.txt": "a", "beside.txt": "beside" });
  symlinkSync(outside.path, at("from/out"));
  symlinkSync(join(outside.path, "secret.txt"), at("from/secret.txt"));
  symlinkSync("../beside.txt", at("from/beside.txt"));
  symlinkSync("missing", at("from/broken"));
  expect(Bun.spawnSync(["mkfifo", at("from/fifo")]).exitCode).toBe(0);
  expect(await to("COPY", "/from", "/copy")).toBe(201);
  expect(contents("copy")).toEqual({ "a.txt": "a" });
  expect(await to("MOVE", "/from", "/moved")).toBe(201);
  expect(lstatSync(at("moved/out")).isSymbolicLink()).toBe(true);
  for (const path of ["out", "secret.txt", "broken", "fifo"])
    expect([path, await to("COPY", `/moved/${path}`, "/stolen")]).toEqual([path, 404]);
  expect((await dav("DELETE", "/moved")).status).toBe(204);
  expect(contents()).toEqual({ "beside.txt": "beside", "copy/": "", "copy/a.txt": "a" });
  expect([contentsOf(outside.path), staged(node)]).toEqual([{ "secret.txt": "secret" }, []]);
});

eachStore(
  "a locked member keeps its folder from being deleted, moved and replaced, and nothing is changed",
  async (store) => {
    await using node = await sharedNode(store);
    const files = { "folder/a.txt": "a", "folder/deep/b.txt": "b", "folder/z.txt": "z", "other/c.txt": "c" };
    const { to, contents, dav, uploads } = await storedSite(node, files);
    const before = await contents();
    const info =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
    const locked = await dav("LOCK", "/folder/deep/b.txt", {}, info);
    const token = locked.headers.get("lock-token") ?? "";
    const refused = await dav("DELETE", "/folder");
    expect([refused.status, hrefs(await refused.text())]).toEqual([207, [["folder/deep/b.txt", 423]]]);
    for (const [method, from, target] of [
      ["MOVE", "/folder", "/moved"],
      ["MOVE", "/folder/deep/b.txt", "/moved"],
      ["MOVE", "/other", "/folder"],
      ["COPY", "/other", "/folder"],
      ["COPY", "/other/c.txt", "/folder/deep/b.txt"],
    ] as const)
      expect([method, from, [207, 423].includes(await to(method, from, target))]).toEqual([
        method,
        from,
        true,
      ]);
    expect([await contents(), uploads()]).toEqual([before, []]);
    expect(await to("COPY", "/folder", "/copy")).toBe(201);
    const shown = { if: `</node/static-webdav/${node.bucket}/folder/deep/b.txt> (${token})` };
    expect((await dav("DELETE", "/folder", shown)).status).toBe(204);
    expect(Object.keys(await contents()).some((path) => path.startsWith("folder"))).toBe(false);
    expect((await dav("PUT", "/copy/deep/b.txt", {}, "free")).status).toBe(204);
  },
);
