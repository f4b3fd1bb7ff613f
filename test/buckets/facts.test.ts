import { expect } from "bun:test";
import type { BucketUsage } from "../../src/client/index.ts";
import { eachDatabase, eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";

const sharedNode = sharedNodes();

eachDatabase(
  "the HTTP root is moved from one bucket to another at once, by a token for all buckets",
  async (database) => {
    await using node = await testNode({ database });
    const token = node.superToken;
    for (const [name, is_http_root] of [
      ["old", true],
      ["new", false],
    ] as const) {
      await node.call("static-bucket_create", { token, name, is_http_root });
      await node.call("static-bucket-file_upload", { token, name, path: "index.html", body: name });
    }
    const change = { name: "new", is_http_root: true };
    expect(await node.refused("static-bucket_update", { token, ...change })).toMatchObject({
      data: { field: "is_http_root" },
    });
    const permissions = [{ static_bucket: "write" }];
    const local = await node.newToken([
      { scopes: [{ static_bucket: "new" }, { static_bucket: "old" }], permissions },
    ]);
    const moving = { ...change, move_http_root: true };
    expect((await node.refused("static-bucket_update", { token: local, ...moving })).code).toBe(102);
    expect(await (await fetch(node.url)).text()).toBe("old");
    const everywhere = await node.newToken([{ scopes: ["global"], permissions }]);
    expect(await node.call("static-bucket_update", { token: everywhere, ...moving })).toMatchObject({
      is_http_root: true,
    });
    expect(await node.call("static-bucket_read", { token, name: "old" })).toMatchObject({
      is_http_root: false,
    });
    expect(await (await fetch(node.url)).text()).toBe("new");
  },
);

eachStore("the rules of a bucket's present files are checked, and its files are counted", async (store) => {
  await using node = await testNode({ ...store, top: "keep_removed_days = 30" });
  const token = node.superToken;
  await node.call("static-bucket_create", { token, name: "site" });
  const put = (path: string, body: string) =>
    node.call("static-bucket-file_upload", { token, name: "site", path, body });
  const problems = () => node.call("static-bucket_site_problems", { token, name: "site" });
  expect(await problems()).toEqual([]);
  await put("gone.txt", "12345");
  await node.call("static-bucket-file_delete", { token, name: "site", path: "gone.txt" });
  await put("_redirects", "/a /b 999\n");
  expect(await problems()).toEqual([
    { file: "_redirects", line: 1, level: "error", why: expect.stringContaining("999") },
  ]);
  const before = Date.now();
  const usage = () =>
    node.call("static-bucket_usage", { token, name: "site" }) as Promise<BucketUsage | null>;
  for (let look = 0; (await usage())?.bytes !== 10; look += 1) {
    if (look === 600) throw new Error("the bucket was not counted within 30 s");
    await Bun.sleep(50);
  }
  const counted = await usage();
  expect(counted).toMatchObject({ files: 1, bytes: 10 });
  expect(Math.abs((counted?.newest ?? 0) - before)).toBeLessThan(60_000);
  const counts = { files: 10, deploys: 0, trash: 5, uploads: 0, buckets: 1, counted: 1 };
  expect(await node.call("storage_usage", { token })).toEqual({ ...counts, database: expect.any(Number) });
  const reader = await node.newToken([
    { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
  ]);
  expect((await node.refused("static-bucket_usage", { token: reader, name: "site" })).code).toBe(102);
  expect(await node.refused("static-bucket_usage", { token, name: "none" })).toMatchObject({ code: 105 });
});

eachDatabase(
  "whoever has a right to files of a bucket learns where its site is, and no more",
  async (database) => {
    await using node = await sharedNode({ database });
    const { bucket: name, superToken: token } = node;
    const hosts = [`${name.toLowerCase().replace("_", "-")}.example.org`];
    await node.call("static-bucket_create", { token, name, public: false, hosts });
    const right = async (bucket: string, permission: object) =>
      node.newToken([{ scopes: [{ static_bucket: bucket }], permissions: [permission] }]);
    const site = { enable: true, public: false, is_http_root: false, hosts };
    for (const action of ["read", "write", "delete", "list"])
      expect(
        await node.call("static-bucket_site", {
          token: await right(name, { static_bucket_file: action }),
          name,
        }),
      ).toEqual(site);
    const own = await right(name, { static_bucket_file: "list" });
    expect((await node.refused("static-bucket_read", { token: own, name })).code).toBe(102);
    const elsewhere = await right("other", { static_bucket_file: "list" });
    expect((await node.refused("static-bucket_site", { token: elsewhere, name })).code).toBe(102);
    expect(await node.call("static-bucket_site", { token: elsewhere, name: "other" })).toBeNull();
  },
);
