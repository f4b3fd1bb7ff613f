import { expect, test } from "bun:test";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

type Version = {
  version: number;
  path: string;
  kind: string;
  size: number;
  mtime: number;
  removed_at: number;
  kept_until: number;
};

/** On the disk as long as in an object store, where that is the default. */
const keepsRemoved = "keep_removed_days = 7\n";
const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

async function versionedSite(node: TestNode) {
  const { dav } = await webdavSite(node);
  const token = node.superToken;
  const params = (more: object) => ({ token, name: "site", ...more });
  return {
    dav,
    upload: (path: string, body: string) => node.call("static-bucket-file_upload", params({ path, body })),
    history: async (path?: string) =>
      (await node.call("static-bucket-file_history", params({ path }))) as Version[],
    restore: (more: object) => node.call("static-bucket-file_restore", params(more)),
    refusedRestore: (more: object) => node.refused("static-bucket-file_restore", params(more)),
    read: async (path: string) =>
      Buffer.from(String(await node.call("static-bucket-file_read", params({ path }))), "base64").toString(),
  };
}

eachStore("a version replaced by WebDAV is found and restored by RPC", async (store) => {
  await using node = await testNode({ ...store, top: keepsRemoved });
  const { dav, upload, history, restore, read } = await versionedSite(node);
  await upload("a/f.txt", "first");
  expect((await dav("PUT", "/a/f.txt", {}, "second")).status).toBe(204);
  expect((await dav("DELETE", "/a", {})).status).toBe(204);
  const [folder, first] = await history();
  expect([folder, first]).toMatchObject([
    { path: "a", kind: "folder", size: 0 },
    { path: "a/f.txt", kind: "file", size: 5 },
  ]);
  expect((first?.kept_until ?? 0) - (first?.removed_at ?? 0)).toBe(7 * 86_400_000);
  expect((await history("a/f.txt")).map(({ version, size }) => ({ version, size }))).toMatchObject([
    { version: folder?.version, size: 6 },
    { version: first?.version, size: 5 },
  ]);
  expect(await restore({ path: "a", version: folder?.version })).toEqual({ success: true });
  expect(await read("a/f.txt")).toBe("second");
  expect(await restore({ path: "a/f.txt", version: first?.version })).toEqual({ success: true });
  expect(await (await fetch(`${node.url}/node/static/site/a/f.txt`)).text()).toBe("first");
});

eachStore("how long versions are kept, and how much that is, is told", async (store) => {
  await using node = await testNode({ ...store, top: keepsRemoved });
  const { dav, upload, history, restore } = await versionedSite(node);
  const retention = (more: object = {}) =>
    node.call("static-bucket-file_retention", { token: node.superToken, name: "site", ...more });
  expect(await retention()).toEqual({ days: 7 });
  expect(await retention({ measure: true })).toEqual({ days: 7, versions: 0, bytes: 0 });
  await upload("f.txt", "first");
  await upload("f.txt", "second");
  await upload("a/b/g.txt", "in a folder");
  await dav("DELETE", "/a", {});
  expect(await retention({ measure: true })).toEqual({ days: 7, versions: 2, bytes: 16 });
  const [folder] = await history("a");
  await restore({ path: "a", version: folder?.version });
  expect(await retention({ measure: true })).toEqual({ days: 7, versions: 1, bytes: 5 });
});

eachStore("a locked path is not restored to, nor a version that does not exist", async (store) => {
  await using node = await testNode({ ...store, top: keepsRemoved });
  const { dav, upload, history, restore, refusedRestore, read } = await versionedSite(node);
  await upload("f.txt", "old");
  await upload("f.txt", "new");
  const [old] = await history("f.txt");
  const locked = await dav("LOCK", "/f.txt", { depth: "0" }, lockInfo);
  const error = await refusedRestore({ path: "f.txt", version: old?.version });
  expect(error).toMatchObject({ code: 999, message: expect.stringContaining("locked") });
  expect(await read("f.txt")).toBe("new");
  await dav("UNLOCK", "/f.txt", { "lock-token": locked.headers.get("lock-token") ?? "" });
  await restore({ path: "f.txt", version: old?.version });
  expect(await read("f.txt")).toBe("old");
  for (const more of [
    { path: "f.txt", version: 9999 },
    { path: "other.txt", version: old?.version },
  ])
    expect(await refusedRestore(more)).toMatchObject({ code: 105 });
  expect(await refusedRestore({ path: "../f.txt", version: 1 })).toMatchObject({ code: 108 });
  expect(await refusedRestore({ path: "f.txt", version: old?.version, to: "/etc/x" })).toMatchObject({
    code: 108,
  });
});

eachStore(
  "listing versions needs the permission to list, restoring one that to write, purging them that to delete",
  async (store) => {
    await using node = await testNode({ ...store, top: keepsRemoved });
    const { upload, history } = await versionedSite(node);
    await upload("f.txt", "old");
    await upload("f.txt", "new");
    const [old] = await history();
    const may = (...permissions: string[]) =>
      node.newToken([
        {
          scopes: [{ static_bucket: "site" }],
          permissions: permissions.map((permission) => ({ static_bucket_file: permission })),
        },
      ]);
    const [lister, writer] = [await may("list"), await may("read", "write")];
    const file = { name: "site", path: "f.txt" };
    expect(await node.call("static-bucket-file_history", { token: lister, ...file })).toHaveLength(1);
    expect(await node.refused("static-bucket-file_history", { token: writer, ...file })).toMatchObject({
      code: 102,
    });
    const version = { ...file, version: old?.version };
    expect(await node.refused("static-bucket-file_restore", { token: lister, ...version })).toMatchObject({
      code: 102,
    });
    expect(await node.call("static-bucket-file_restore", { token: writer, ...version })).toEqual({
      success: true,
    });
    const [deleter, purge] = [await may("delete"), "static-bucket-file_purge"];
    expect(await node.refused(purge, { token: writer, name: "site" })).toMatchObject({ code: 102 });
    expect(await node.refused(purge, { token: lister, name: "site" })).toMatchObject({ code: 102 });
    const kept = (await history()).length;
    expect(kept).toBeGreaterThan(0);
    expect(await node.call(purge, { token: deleter, name: "site" })).toEqual({
      success: true,
      versions: kept,
    });
    expect(await history()).toEqual([]);
    expect(await node.call(purge, { token: deleter, name: "site" })).toEqual({ success: true, versions: 0 });
  },
);

test("the store of plain files says that it keeps no versions", async () => {
  await using node = await testNode();
  const token = node.superToken;
  await node.call("static-bucket_create", [token, "site"]);
  const data = expect.objectContaining({ reason: "no_versions" });
  expect(await node.call("static-bucket-file_retention", { token, name: "site" })).toEqual({ days: 0 });
  for (const [method, more] of [
    ["history", {}],
    ["restore", { path: "a", version: 1 }],
  ] as const)
    expect(
      await node.refused(`static-bucket-file_${method}`, { token, name: "site", ...more }),
    ).toMatchObject({
      code: 999,
      data,
    });
});

eachStore(
  "a bucket at a path where another one's files are kept needs the Super Token, until they are purged",
  async (store) => {
    await using node = await testNode({ ...store, top: keepsRemoved });
    const { dav, upload } = await versionedSite(node);
    const site = { token: node.superToken, name: "site" };
    await upload("secret.txt", "secret");
    await dav("DELETE", "/secret.txt", {});
    const creator = await node.newToken([
      {
        scopes: [{ static_bucket: "mine" }],
        permissions: [{ static_bucket: "write" }],
      },
    ]);
    const create = { token: creator, name: "mine", path: "site" };
    await node.call("static-bucket_delete", site);
    expect(await node.refused("static-bucket_create", create)).toMatchObject({
      code: 108,
      data: { field: "path", reason: "path_taken" },
    });
    await node.call("static-bucket_create", site);
    await node.call("static-bucket-file_purge", site);
    await node.call("static-bucket_delete", site);
    expect(await node.call("static-bucket_create", create)).toMatchObject({ name: "mine" });
  },
);
