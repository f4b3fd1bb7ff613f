import { expect } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { deployClient } from "../support/deploys.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

/** The files that a server on a disk has of any bucket, its trash and its deploys included. */
async function filesOnDisk({ folder }: TestNode): Promise<string[]> {
  const entries = await readdir(join(folder, "static"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

eachStore(
  "a bucket that is deleted with its files leaves no file, no deploy and no version, also where a client has locked it",
  async (store) => {
    await using node = await testNode({ ...store, top: "keep_removed_days = 7\n" });
    const { dav } = await webdavSite(node);
    const site = { token: node.superToken, name: "site" };
    const before = store.store === "disk" ? await filesOnDisk(node) : [];
    const { deploy, prepare } = deployClient(node);
    for (const text of ["one", "two"]) await deploy({ "index.html": text, "a/b": text });
    await prepare({ "index.html": "never published" });
    await dav("PUT", "/a/b", {}, "replaced");
    await dav("DELETE", "/index.html", {});
    await dav("PUT", "/c.txt", {}, "locked");
    expect((await dav("LOCK", "/c.txt", {}, lockInfo)).status).toBe(200);

    expect(await node.call("static-bucket_delete", { ...site, files: true })).toEqual({
      success: true,
      files_deleted: true,
    });
    expect(await node.call("static-bucket_read", site)).toBeNull();
    if (store.store === "disk") expect(await filesOnDisk(node)).toEqual(before);

    await node.call("static-bucket_create", site);
    expect(await node.call("static-bucket-file_list", site)).toEqual([]);
    expect(await node.call("static-bucket-file_history", site)).toEqual([]);
    expect(await node.call("static-bucket_deploy_list", site)).toEqual([]);
    expect((await dav("PUT", "/c.txt", {}, "free")).status).toBe(201);
  },
);

eachStore("deleting a bucket with its files needs the permission to delete files", async (store) => {
  await using node = await testNode(store);
  const site = { token: node.superToken, name: "site" };
  await node.call("static-bucket_create", site);
  await node.call("static-bucket-file_upload", { ...site, path: "f", body: "x" });
  const token = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket: "delete" }] },
  ]);
  expect(await node.refused("static-bucket_delete", { ...site, token, files: true })).toMatchObject({
    code: 102,
    data: { reason: "missing_permission" },
  });
  expect(await node.call("static-bucket-file_list", site)).toHaveLength(1);
  expect(await node.call("static-bucket_delete", { ...site, token })).toEqual({ success: true });
});
