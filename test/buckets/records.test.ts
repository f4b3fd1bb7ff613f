import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { eachDatabase, eachStore, testNode } from "../support/node.ts";

eachDatabase(
  "a bucket is made with its folder, shown, changed and forgotten; its files stay",
  async (database) => {
    await using node = await testNode({ database });
    const token = node.superToken;
    const made = { id: 1, name: "site", path: "sites/main", is_http_root: false, cors: false, enable: true };
    expect(await node.call("static-bucket_create", [token, "site", "sites/main"])).toEqual(made);
    expect(existsSync(join(node.folder, "static/sites/main"))).toBe(true);
    expect(await node.call("static-bucket_read", [token, "site"])).toEqual(made);
    expect(await node.call("static-bucket_update", { token, name: "site", cors: true })).toEqual({
      ...made,
      cors: true,
    });
    expect(await node.call("static-bucket_list", [token])).toEqual(["site"]);
    await node.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "a" });
    expect(await node.call("static-bucket_delete", [token, "site"])).toEqual({ success: true });
    expect(await node.call("static-bucket_read", [token, "site"])).toBeNull();
    expect(existsSync(join(node.folder, "static/sites/main/a.txt"))).toBe(true);
    expect(await node.refused("static-bucket_delete", [token, "site"])).toMatchObject({ code: 105 });
    expect(await node.refused("static-bucket_update", { token, name: "site" })).toMatchObject({ code: 105 });
  },
);

eachDatabase(
  "names are unique, folders neither shared nor nested, and one bucket at most is the root",
  async (database) => {
    await using node = await testNode({ database });
    const token = node.superToken;
    const create = (name: string, path: string, is_http_root = false) =>
      node.send("static-bucket_create", [token, name, path, is_http_root]);
    expect((await create("a", "x/y", true)).error).toBeUndefined();
    for (const [name, path] of [
      ["a", "other"],
      ["b", "x/y"],
      ["b", "x"],
      ["b", "x/y/z"],
      ["b", "X/Y"],
    ] as const) {
      expect((await create(name, path)).error).toMatchObject({ code: 108 });
    }
    expect((await create("b", "b", true)).error).toMatchObject({
      code: 108,
      data: { field: "is_http_root" },
    });
    for (const name of ["", "..", "a/b", "a b", "ü", "x".repeat(129)])
      expect((await create(name, "ok")).error).toMatchObject({ code: 108 });
    for (const path of ["/abs", "a/../b", "a//b", "..", "c:\\x", "a\\b", "~staging"]) {
      expect((await create("c", path)).error).toMatchObject({ code: 108, data: { field: "path" } });
    }
    expect(await node.call("static-bucket_list", [token])).toEqual(["a"]);
  },
);

eachDatabase("of callers that race for the root or for a name one wins", async (database) => {
  await using node = await testNode({ database });
  const racing = Array.from({ length: 8 }, (_, n) =>
    node.send("static-bucket_create", [node.superToken, `b${n}`, null, true]),
  );
  const outcomes = await Promise.all(racing);
  expect(outcomes.filter(({ error }) => error === undefined)).toHaveLength(1);
  expect(await node.call("static-bucket_list", [node.superToken])).toHaveLength(1);
});

eachStore("a disabled bucket is off HTTP at once, and its methods still work", async (store) => {
  await using node = await testNode(store);
  const token = node.superToken;
  await node.call("static-bucket_create", [token, "site"]);
  await node.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "a" });
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(200);
  await node.call("static-bucket_update", { token, name: "site", enable: false });
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(404);
  expect(await node.call("static-bucket-file_read", [token, "site", "a.txt"])).toBe("YQ==");
  await node.call("node-server_exec_sql", {
    token,
    sql: "UPDATE static_file SET enable = true WHERE name = 'site'",
  });
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(200);
});
