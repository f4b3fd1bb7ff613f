import { expect, test } from "bun:test";
import { type StoreKind, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

const stores: readonly StoreKind[] = ["objects over sqlite", "objects over postgres"];

for (const store of stores) {
  test(`the files of a deleted bucket stay, and only the Super Token may take them over (${store})`, async () => {
    await using node = await testNode({ store });
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "text")).status).toBe(201);
    await node.call("static-bucket_delete", { token: node.superToken, name: "site" });
    const token = await node.newToken([
      { scopes: ["global"], permissions: [{ static_bucket: "write" }, { static_bucket: "read" }] },
    ]);
    const create = { name: "other", path: "site" };
    const error = await node.refused("static-bucket_create", { token, ...create });
    expect(error.data).toMatchObject({ kind: "InvalidInput", field: "path", reason: "path_taken" });
    await node.call("static-bucket_create", { token, name: "empty" });
    await node.call("static-bucket_create", { token: node.superToken, ...create });
    expect(await (await fetch(`${node.url}/node/static/other/a.txt`)).text()).toBe("text");
  });

  test(`a bucket without a tree says so, and an update gives it one (${store})`, async () => {
    await using node = await testNode({ store });
    const { dav } = await webdavSite(node);
    await node.sql("DELETE FROM kv WHERE namespace = 'static-files/heads'");
    const refused = await dav("PROPFIND", "/", { depth: "0" });
    expect([refused.status, refused.headers.get("x-error-reason")]).toEqual([500, "files_missing"]);
    await node.call("static-bucket_update", { token: node.superToken, name: "site" });
    expect((await dav("PUT", "/a.txt", {}, "text")).status).toBe(201);
  });
}
