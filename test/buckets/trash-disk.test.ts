import { expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { Folder } from "../../src/base/local-fs/folder.ts";
import { BucketTrash } from "../../src/buckets/history/disk/bucket-trash.ts";
import { treePath } from "../../src/buckets/path.ts";
import { Staging } from "../../src/buckets/trees/disk/staging.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { lines, siteOf, trashSite } from "../support/trash-site.ts";
import { asUser, mounted, staged } from "../support/webdav-disk.ts";

test("a deletion that the disk refuses keeps nothing, and neither does one of a folder", async () => {
  await using at = await trashSite();
  const { node, put, history, dav, text } = at;
  await dav("MKCOL", "/closed");
  await put("closed/a.txt", "a");
  await dav("MKCOL", "/closed/folder");
  await put("b.txt", "b");
  await dav("DELETE", "/b.txt");
  await asUser(node, { closed: 0o555 }, async () => {
    expect((await dav("DELETE", "/closed/a.txt")).status).toBe(403);
    expect((await dav("DELETE", "/closed/folder")).status).toBe(403);
    expect((await put("closed/a.txt", "new")).status).toBe(403);
    expect(lines(await history())).toEqual(["b.txt file 1"]);
    expect(readdirSync(join(at.trash, "~30"))).toHaveLength(1);
  });
  expect(text("closed/a.txt")).toBe("a");
});

test("processes that share a trash never take each other's versions", async () => {
  await using folder = await tempFolder();
  const at = (name: string) => join(folder.path, name);
  const staging = new Staging(at("staging"));
  const open = () =>
    new BucketTrash({ folder: at("trash"), days: 1, sync: false, staging, clock: systemClock });
  const path = treePath("a/f.txt");
  const keep = async (trash: BucketTrash, name: string) => {
    for (let round = 1; round <= 20; round += 1) {
      writeFileSync(at(`${name}-${round}`), `${name} ${round}`);
      await trash.put(path, async (to) => linkSync(at(`${name}-${round}`), to));
      mkdirSync(at(`${name}-folder-${round}/x`), { recursive: true });
      await trash.put(path, async (to) => renameSync(at(`${name}-folder-${round}`), to));
    }
  };
  await Promise.all(["first", "second", "third"].map((name) => keep(open(), name)));
  const items = await open().items();
  expect(items).toHaveLength(120);
  expect(new Set(items.map(({ version }) => version)).size).toBe(120);
  const contents = items.flatMap(({ topPath }) =>
    statSync(topPath).isFile() ? [readFileSync(topPath, "utf8")] : [],
  );
  expect(new Set(contents).size).toBe(60);
});

test("a folder that a crash caught between two renames goes back if its place is empty, and stays in the trash if not", async () => {
  await using folder = await tempFolder();
  const at = (name: string) => join(folder.path, name);
  for (const name of ["site", "site/new", "trash", "trash/1", "trash/2"]) mkdirSync(at(name));
  const staging = new Staging(at("staging"));
  const site = await Folder.open(at("site"));
  await (await staging.noteReplaced(site, "old")).note(at("trash/1"));
  await (await staging.noteReplaced(site, "new")).note(at("trash/2"));
  await (await staging.noteReplaced(site, "never moved")).note(at("trash/3"));
  await site.close();
  expect(await new Staging(at("staging")).clear()).toEqual([]);
  expect(readdirSync(at("site")).sort()).toEqual(["new", "old"]);
  expect(readdirSync(at("trash"))).toEqual(["2"]);
  expect(readdirSync(at("staging"))).toEqual([]);
});

for (const place of ["static/site", "static/site/disk"])
  test(`what is deleted or replaced on ${place}, a file system of its own, is copied into the trash`, async () => {
    await using node = await testNode({ top: "keep_removed_days = 1\n" });
    using disk = mounted("another file system", join(node.folder, place), "size=8m");
    if (disk === undefined) return;
    const { dav, put, text, history, restore } = await siteOf(node);
    const to = (path: string) => ({ destination: `${node.url}/node/static-webdav/site/${path}` });
    await dav("MKCOL", "/disk");
    for (const folder of ["disk/gone", "disk/replaced", "disk/new"]) {
      await dav("MKCOL", `/${folder}`);
      await put(`${folder}/f.txt`, `of ${folder}`);
    }
    await put("disk/moved.txt", "moved");
    expect((await dav("MOVE", "/disk/moved.txt", to("moved.txt"))).status).toBe(201);
    expect(await history()).toEqual([]);
    await put("disk/put.txt", "old");
    expect((await put("disk/put.txt", "new")).status).toBe(204);
    expect((await dav("DELETE", "/disk/put.txt")).status).toBe(204);
    expect((await dav("DELETE", "/disk/gone")).status).toBe(204);
    expect((await dav("MOVE", "/disk/new", to("disk/replaced"))).status).toBe(204);
    const found = await history();
    expect(lines(found)).toEqual([
      "disk/replaced folder 0",
      "disk/gone folder 0",
      "disk/put.txt file 3",
      "disk/put.txt file 3",
    ]);
    const [replaced, gone, deleted, overwritten] = found.map(({ version }) => version);
    await restore("disk/put.txt", deleted);
    expect(text("disk/put.txt")).toBe("new");
    await restore("disk/put.txt", overwritten);
    expect(text("disk/put.txt")).toBe("old");
    await restore("disk/gone", gone);
    await restore("disk/replaced/f.txt", replaced, { to: "disk/f.txt" });
    expect([text("disk/gone/f.txt"), text("disk/f.txt")]).toEqual(["of disk/gone", "of disk/replaced"]);
    expect(text("disk/replaced/f.txt")).toBe("of disk/new");
    expect([lines(await history()), staged(node)]).toEqual([
      ["disk/put.txt file 3", "disk/replaced folder 0"],
      [],
    ]);
  });

test("on a full disk a file is deleted without being kept, and a file that would be replaced stays", async () => {
  await using node = await testNode({
    top: "keep_removed_days = 1\n",
    logging: 'memory_log_filter = "info"\n',
  });
  using disk = mounted("a full disk", join(node.folder, "static"), "size=8m,nr_inodes=20");
  if (disk === undefined) return;
  const { dav, put, text, history, site, params } = await siteOf(node);
  for (const name of ["a.txt", "b.txt", "c.txt"]) await put(name, name);
  await dav("DELETE", "/a.txt");
  // On this file system a hard link needs an inode, too.
  expect(() => {
    for (let at = 0; at < 40; at += 1) writeFileSync(site(`${at}`), "");
  }).toThrow("ENOSPC");
  const rename = await node.refused("static-bucket-file_rename", params({ from: "b.txt", to: "c.txt" }));
  expect(rename).toMatchObject({ data: expect.objectContaining({ reason: "disk_full" }) });
  expect([text("b.txt"), text("c.txt")]).toEqual(["b.txt", "c.txt"]);
  expect((await dav("DELETE", "/c.txt")).status).toBe(204);
  expect(existsSync(site("c.txt"))).toBe(false);
  expect(lines(await history())).toEqual(["a.txt file 5"]);
  const log = (await node.call("node-server_log", { token: node.superToken })) as Array<{ fields: object }>;
  expect(log).toContainEqual(
    expect.objectContaining({
      fields: expect.objectContaining({ event: "trash.skipped", bucket: "site", path: "c.txt" }),
    }),
  );
});
