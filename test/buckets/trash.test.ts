import { expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Staging } from "../../src/buckets/trees/disk/staging.ts";
import { diskHistory } from "../support/disk-buckets.ts";
import { lines, trashSite } from "../support/trash-site.ts";

const dayMs = 24 * 3600 * 1000;

test("whatever deletes or replaces a file or a folder, what was there can be restored", async () => {
  await using at = await trashSite();
  const { node, dav, put, text, history, restore, params, site } = at;
  const to = (path: string) => ({ destination: `${node.url}/node/static-webdav/site/${path}` });
  for (const name of ["put", "rpc", "deleted", "rpc-deleted", "renamed", "copied", "moved"])
    await put(`${name}.txt`, `old ${name}`);
  for (const folder of ["gone", "folder-copied", "folder-moved", "file-over-folder"]) {
    await dav("MKCOL", `/${folder}`);
    await put(`${folder}/f.txt`, `old ${folder}`);
  }
  await put("new.txt", "new");
  await dav("MKCOL", "/new");
  await put("new/f.txt", "new");
  expect(await history()).toEqual([]);

  await put("put.txt", "new");
  await node.call("static-bucket-file_upload", params({ path: "rpc.txt", body: "new" }));
  expect((await dav("DELETE", "/deleted.txt")).status).toBe(204);
  await node.call("static-bucket-file_delete", params({ path: "rpc-deleted.txt" }));
  await put("source-1.txt", "new");
  await node.call("static-bucket-file_rename", params({ from: "source-1.txt", to: "renamed.txt" }));
  expect((await dav("COPY", "/new.txt", to("copied.txt"))).status).toBe(204);
  await put("source-2.txt", "new");
  expect((await dav("MOVE", "/source-2.txt", to("moved.txt"))).status).toBe(204);
  expect((await dav("DELETE", "/gone")).status).toBe(204);
  expect((await dav("COPY", "/new", to("folder-copied"))).status).toBe(204);
  expect((await dav("COPY", "/new.txt", to("file-over-folder"))).status).toBe(204);
  expect((await dav("MOVE", "/new", to("folder-moved"))).status).toBe(204);

  const found = await history();
  expect(lines(found)).toEqual([
    "folder-moved folder 0",
    "file-over-folder folder 0",
    "folder-copied folder 0",
    "gone folder 0",
    "moved.txt file 9",
    "copied.txt file 10",
    "renamed.txt file 11",
    "rpc-deleted.txt file 15",
    "deleted.txt file 11",
    "rpc.txt file 7",
    "put.txt file 7",
  ]);
  expect(found.every(({ removed_at, kept_until }) => kept_until - removed_at === 30 * dayMs)).toBe(true);
  expect(found.every(({ version }, at) => at === 0 || version < (found[at - 1]?.version ?? 0))).toBe(true);
  for (const { path, version, kind } of found) {
    // A folder needs a free path.
    if (kind === "folder" && existsSync(site(path))) await dav("DELETE", `/${path}`);
    await restore(path, version);
    const file = kind === "folder" ? `${path}/f.txt` : path;
    expect(text(file)).toBe(`old ${path.replace(".txt", "")}`);
    expect(await (await fetch(`${node.url}/node/static/site/${file}`)).text()).toBe(text(file));
  }
  // What was restored is no version any more; what had taken its place is.
  expect(lines(await history())).toEqual([
    "put.txt file 3",
    "rpc.txt file 3",
    "renamed.txt file 3",
    "copied.txt file 3",
    "moved.txt file 3",
    "folder-copied folder 0",
    "file-over-folder file 3",
    "folder-moved folder 0",
  ]);
});

test("one file of a deleted folder is listed and restored, at its path or another, and the rest later", async () => {
  await using at = await trashSite();
  const { dav, put, text, history, restore, notRestored, site } = at;
  await dav("MKCOL", "/a");
  await dav("MKCOL", "/a/b");
  for (const path of ["a/one.txt", "a/b/two.txt", "a/b/%25 ü.txt"]) await put(path, path);
  await dav("DELETE", "/a");
  const [folder] = await history();
  const version = folder?.version;
  expect(lines(await history({ files_only: true }))).toEqual([
    "a/b/% ü.txt file 14",
    "a/b/two.txt file 11",
    "a/one.txt file 9",
  ]);
  const page = await history({ files_only: true, limit: 2 });
  const { path } = page.at(-1) ?? { path: "" };
  expect(lines(await history({ files_only: true, after: { version, path } }))).toEqual(["a/one.txt file 9"]);
  expect(lines(await history({ path: "a/b/two.txt" }))).toEqual(["a/b/two.txt file 11"]);
  expect(lines(await history({ path: "a/b" }))).toEqual(["a/b folder 0"]);
  expect(await history({ path: "a/c" })).toEqual([]);
  await restore("a/b/two.txt", version, { to: "elsewhere/two.txt" });
  expect(text("elsewhere/two.txt")).toBe("a/b/two.txt");
  expect(await notRestored("a/b/two.txt", version)).toMatchObject({ code: 105 });
  expect(await notRestored("a/one.txt/x", version)).toMatchObject({ code: 105 });
  await restore("a/one.txt", version);
  expect(await notRestored("a", version)).toMatchObject({ code: 108 });
  await restore("a/b", version);
  expect(readdirSync(site("a")).sort()).toEqual(["b", "one.txt"]);
  expect(readdirSync(site("a/b"))).toEqual(["% ü.txt"]);
});

test("links in a deleted folder lead nowhere, and a deleted link takes nothing along", async () => {
  await using at = await trashSite();
  const { dav, put, history, restore, notRestored, site, node, params } = at;
  const secret = join(node.folder, "secret.txt");
  writeFileSync(secret, "secret");
  await dav("MKCOL", "/a");
  await put("a/f.txt", "f");
  symlinkSync(secret, site("a/file-link"));
  symlinkSync(node.folder, site("a/folder-link"));
  symlinkSync("../b.txt", site("a/relative"));
  await put("b.txt", "b");
  symlinkSync("b.txt", site("link.txt"));
  await node.call("static-bucket-file_delete", params({ path: "link.txt" }));
  expect([await history(), existsSync(at.trash)]).toEqual([[], false]);
  await dav("DELETE", "/a");
  const [folder] = await history();
  expect(lines(await history({ files_only: true }))).toEqual(["a/f.txt file 1"]);
  for (const path of ["a/file-link", "a/folder-link", "a/folder-link/secret.txt", "a/relative"]) {
    expect(await history({ path })).toEqual([]);
    expect(await notRestored(path, folder?.version, { to: "stolen.txt" })).toMatchObject({ code: 105 });
  }
  expect(existsSync(site("stolen.txt"))).toBe(false);
  await restore("a", folder?.version);
  expect(lstatSync(site("a/file-link")).isSymbolicLink()).toBe(true);
  expect((await fetch(`${node.url}/node/static/site/a/file-link`)).status).toBe(404);
});

test("the trash is served nowhere, and no path leads there", async () => {
  await using at = await trashSite();
  const { node, dav, put, trash } = at;
  await put("secret.txt", "secret");
  await dav("DELETE", "/secret.txt");
  const [folder = ""] = readdirSync(trash);
  const [name = ""] = readdirSync(join(trash, folder));
  expect(name).toMatch(/^\d{13}~secret\.txt$/);
  expect(statSync(join(trash, "..")).mode & 0o777).toBe(0o700);
  const kept = ["~trash", "site", folder, name].map(encodeURIComponent).join("/");
  for (const path of [
    `/node/static/${kept}`,
    `/node/static/site/..%2f${kept}`,
    `/node/static/site/../${kept}`,
  ])
    expect((await fetch(node.url + path)).status).toBeGreaterThanOrEqual(400);
  expect((await dav("GET", `/..%2f${kept}`)).status).toBeGreaterThanOrEqual(400);
  expect(
    await node.refused("static-bucket_create", {
      token: node.superToken,
      name: "stolen",
      path: "~trash/site",
    }),
  ).toMatchObject({ code: 108 });
});

test("a long path is kept whole", async () => {
  await using at = await trashSite();
  const { node, params, history, restore, text, trash } = at;
  const path = `${Array.from({ length: 12 }, (_, at) => `${"ä/.%".repeat(at)}${"x".repeat(60)}`.replaceAll("/", "-")).join("/")}/..f.`;
  await node.call("static-bucket-file_upload", params({ path, body: "long" }));
  await node.call("static-bucket-file_delete", params({ path }));
  const [first] = await history();
  expect(first).toMatchObject({ path, size: 4 });
  await restore(path, first?.version);
  expect(text(path)).toBe("long");
  expect(await history()).toEqual([]);
  expect(readdirSync(join(trash, "~30"))).toEqual([]);
});

test("what has expired is neither listed nor restored, and is purged; the rest stays", async () => {
  await using at = await trashSite();
  const { node, put, dav, history, notRestored, trash } = at;
  for (const name of ["old.txt", "young.txt"]) {
    await put(name, name);
    await dav("DELETE", `/${name}`);
  }
  await dav("MKCOL", "/folder");
  await put("folder/f.txt", "f");
  await dav("DELETE", "/folder");
  const place = join(trash, "~30");
  const age = Date.now() - 30 * dayMs - 1000;
  for (const name of readdirSync(place))
    if (!name.endsWith("young.txt"))
      renameSync(join(place, name), join(place, name.replace(/^\d+/, `${age}`)));
  expect(lines(await history())).toEqual(["young.txt file 9"]);
  expect(await notRestored("old.txt", age)).toMatchObject({ code: 105 });
  expect(readdirSync(place)).toHaveLength(3);
  const staticPath = join(node.folder, "static");
  const staging = new Staging(join(node.folder, "staging"));
  const own = diskHistory({ staticPath, keepRemovedDays: 30, staging });
  expect(await own.purgeExpired()).toBe(2);
  expect(readdirSync(place)).toEqual([expect.stringMatching(/^\d+~young\.txt$/)]);
  expect(readdirSync(join(node.folder, "staging"))).toEqual([]);
  expect(await own.purgeExpired()).toBe(0);
});

test("with keep_removed_days back at 0, what was kept stays for its days, and nothing new is kept", async () => {
  await using at = await trashSite();
  const { node, put, dav, history, restore, text } = at;
  await put("a.txt", "old");
  await put("a.txt", "new");
  const config = readFileSync(node.configPath, "utf8");
  writeFileSync(node.configPath, config.replace("keep_removed_days = 30", "keep_removed_days = 0"));
  await node.node.reload();
  await put("b.txt", "b");
  await dav("DELETE", "/b.txt");
  const found = await history();
  expect(lines(found)).toEqual(["a.txt file 3"]);
  await restore("a.txt", found[0]?.version);
  expect(text("a.txt")).toBe("old");
  expect(
    await node.refused("static-bucket-file_history", { token: node.superToken, name: "site" }),
  ).toMatchObject({ code: 999, data: expect.objectContaining({ reason: "no_versions" }) });
});

test("a change that fails keeps nothing", async () => {
  await using at = await trashSite();
  const { put, history, site, dav } = at;
  await put("a.txt", "a");
  mkdirSync(site("folder"));
  expect((await put("folder", "x")).status).toBe(405);
  expect((await dav("DELETE", "/missing.txt")).status).toBe(404);
  expect((await dav("PUT", "/a.txt", { "if-match": '"other"' }, "x")).status).toBe(412);
  expect(await history()).toEqual([]);
});

test("a deploy keeps nothing of its own, and what is kept of the bucket outlives a publish", async () => {
  await using at = await trashSite();
  const { node, put, dav, history, restore, text, params, trash } = at;
  await put("a.txt", "old");
  await put("a.txt", "new");
  const { deploy } = (await node.call("static-bucket_deploy_begin", params({}))) as { deploy: string };
  const upload = (body: string) =>
    fetch(`${node.url}/node/static-webdav/site@${deploy}/a.txt`, {
      method: "PUT",
      headers: { authorization: `Bearer ${node.superToken}` },
      body,
    });
  for (const body of ["deployed by mistake", "deployed"]) expect((await upload(body)).ok).toBe(true);
  await node.call("static-bucket_deploy_publish", params({ deploy }));
  expect(text("a.txt")).toBe("deployed");
  const [old, ...others] = await history();
  expect([old?.size, others, readdirSync(join(trash, ".."))]).toEqual([3, [], ["site"]]);
  await restore("a.txt", old?.version);
  expect(text("a.txt")).toBe("old");
  expect(lines(await history())).toEqual(["a.txt file 8"]);
  expect((await dav("DELETE", "/a.txt")).status).toBe(204);
});
