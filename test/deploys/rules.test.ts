import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { deployClient, deploySite, wantedFiles } from "../support/deploys.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const lockBody = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`;

describe("rules of deploys", () => {
  eachStore("changes through other doors stay with the deploy that they were made in", async (store) => {
    await using node = await testNode(store);
    const dav = await webdavSite(node);
    const site = deployClient(node);
    const first = await site.deploy({ "index.html": "one", "css/a.css": "a {}" });
    expect((await site.list()).map(({ changed }) => changed)).toEqual([false]);
    expect((await dav.dav("PUT", "/edited.html", {}, "edited")).status).toBe(201);
    const isNoted = async () => (await site.list())[0]?.changed === true;
    while (!(await isNoted())) await Bun.sleep(10);

    const second = await site.deploy({ "index.html": "two", "css/a.css": "a {}" });
    expect(await site.page("edited.html")).toBe(404);
    expect((await dav.dav("PUT", "/later.html", {}, "later")).status).toBe(201);
    await site.rollback();
    expect(await site.contents()).toEqual({
      "css/": "",
      "css/a.css": "a {}",
      "edited.html": "edited",
      "index.html": "one",
    });
    expect((await site.list()).map(({ deploy, changed }) => [deploy, changed])).toEqual([
      [second, true],
      [first, true],
    ]);
  });

  eachStore(
    "a lock in the bucket refuses a publication, and properties go with their paths",
    async (store) => {
      await using node = await testNode(store);
      const dav = await webdavSite(node);
      const site = deployClient(node);
      await site.write({ "kept.txt": "kept", "gone.txt": "gone" });
      const described = `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><colour xmlns="urn:x">crimson</colour></D:prop></D:set></D:propertyupdate>`;
      for (const path of ["/kept.txt", "/gone.txt"])
        expect((await dav.dav("PROPPATCH", path, {}, described)).status).toBe(207);
      const locked = await dav.dav("LOCK", "/kept.txt", {}, lockBody);
      const lock = locked.headers.get("lock-token") ?? "";

      const { deploy } = await site.prepare({ "kept.txt": "kept" });
      const held = { reason: "locked", path: "kept.txt", until: expect.any(Number) };
      expect((await site.refused("publish", { deploy })).data).toMatchObject(held);
      expect(await site.page("gone.txt")).toBe("gone");
      expect((await dav.dav("UNLOCK", "/kept.txt", { "lock-token": lock })).status).toBe(204);
      await site.publish(deploy);
      const properties = async (path: string) => (await dav.dav("PROPFIND", path, { depth: "0" })).text();
      expect(await properties("/kept.txt")).toContain("crimson");
      await site.rollback();
      expect(await properties("/gone.txt")).not.toContain("crimson");
    },
  );

  eachStore("only who may write and delete deploys, and only into an open deploy", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    const scopes = [{ static_bucket: "site" }];
    const writer = await node.newToken([{ scopes, permissions: [{ static_bucket_file: "write" }] }]);
    const other = await node.newToken([
      {
        scopes: [{ static_bucket: "elsewhere" }],
        permissions: ["read", "write", "delete", "list"].map((name) => ({ static_bucket_file: name })),
      },
    ]);
    for (const token of [writer, other])
      for (const method of ["begin", "publish", "rollback", "delete", "add"]) {
        const params = { token, name: "site", deploy: "0000000000", files: [] };
        const { code } = await node.refused(`static-bucket_deploy_${method}`, params);
        expect([method, code]).toEqual([method, 102]);
      }
    const deploy = await site.begin();
    expect((await deployClient(node, { token: other }).put(deploy, "a.txt", "a")).status).toBe(403);
    expect((await site.put("0000000000", "a.txt", "a")).status).toBe(404);
    expect((await site.put(deploy, "deep/er/a.txt", "a")).status).toBe(201);

    const busy = await site.refused("begin");
    expect(busy.data).toMatchObject({ reason: "deploy_open", deploy });
    await site.remove(await site.begin({ force: true }));
    await site.publish(deploy);
    expect((await site.publish(deploy)).replaced).toBe(null);
    expect((await site.put(deploy, "late.txt", "late")).status).toBe(409);
    expect((await site.refused("add", { deploy, files: wantedFiles({ a: "a" }) })).data).toMatchObject({
      reason: "deploy_closed",
    });
    expect((await site.refused("delete", { deploy })).message).toContain("published");
    for (const path of ["../x", "/x", "a//b", ""])
      expect(
        (await site.refused("add", { deploy, files: [{ ...wantedFiles({ x: "" })[0], path }] })).code,
      ).toBe(108);
  });

  eachStore("the last keep_deploys stay, and what is dropped leaves nothing behind", async (store) => {
    await using node = await testNode({ ...store, top: "keep_deploys = 2\nsync_uploads = false\n" });
    const site = await deploySite(node);
    const made: string[] = [];
    for (const text of ["1", "2", "3", "4"]) made.push(await site.deploy({ "index.html": text }));
    const ids = async () => (await site.list()).map(({ deploy }) => deploy);
    while ((await ids()).length > 2) await Bun.sleep(10);
    expect(await ids()).toEqual([made[3] ?? "", made[2] ?? ""]);
    await site.rollback();
    expect(await site.page("index.html")).toBe("3");
    expect((await site.refused("rollback")).data).toMatchObject({ kind: "NotFound", field: "deploy" });
    // Trees are removed after their deploys.
    if (node.store === "disk") await until("the dropped trees are gone", () => placesOf(node).length === 1);
  });

  eachStore("who takes over a path does not get the deploys of the bucket before", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    await site.deploy({ "secret.txt": "of the first owner" });
    await site.deploy({});
    await node.call("static-bucket_delete", [node.superToken, "site"]);
    const maker = await node.newToken([
      { scopes: [{ static_bucket: "mine" }], permissions: [{ static_bucket: "write" }] },
    ]);
    const refused = await node.refused("static-bucket_create", { token: maker, name: "mine", path: "site" });
    expect(refused.data).toMatchObject({ field: "path" });
    await node.call("static-bucket_create", [node.superToken, "site"]);
    expect(await site.list()).toHaveLength(2);
  });

  eachStore("an upload that ended wrong is found by asking again", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    const files = { "a.txt": "right", "b.txt": "b" };
    const deploy = await site.begin();
    expect((await site.add(deploy, files)).missing.sort()).toEqual(["a.txt", "b.txt"]);
    await site.put(deploy, "a.txt", "wrong");
    await site.put(deploy, "b.txt", "b");
    expect(await site.add(deploy, files)).toEqual({ taken: 1, missing: ["a.txt"] });
    await site.put(deploy, "a.txt", "right");
    expect(await site.add(deploy, files)).toEqual({ taken: 2, missing: [] });
  });

  test("a deploy whose folder is gone from the disk is not published", async () => {
    await using node = await testNode();
    const site = await deploySite(node);
    await site.write({ "index.html": "old" });
    const { deploy } = await site.prepare({ "index.html": "new" });
    const folder = join(node.folder, "static/~deploys/site");
    for (const place of readdirSync(folder)) rmSync(join(folder, place), { recursive: true });
    await site.refused("publish", { deploy });
    expect(await site.page("index.html")).toBe("old");
    await site.remove(deploy);
    expect(await site.list()).toEqual([]);
  });
});

function placesOf(node: TestNode): string[] {
  const folder = join(node.folder, "static/~deploys/site");
  return existsSync(folder) ? readdirSync(folder) : [];
}
