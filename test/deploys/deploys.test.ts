import { describe, expect } from "bun:test";
import { deploySite } from "../support/deploys.ts";
import { everyStore, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

describe("a deploy", () => {
  everyStore(
    "says before its publication what that would change, and which rules do not work",
    async (store) => {
      await using node = await testNode(store);
      const site = await deploySite(node);
      // Nothing knows the hash of these files on a disk.
      await site.write({ "index.html": "old", "same.css": "a {}", "gone.html": "gone" });
      const files = {
        "index.html": "new",
        "same.css": "a {}",
        "b/new.html": "page",
        _redirects: "/a /b 999\n",
      };
      const { deploy } = await site.prepare(files);
      expect(await site.check(deploy)).toMatchObject({
        ...{ added: 2, changed: 1, removed: 1, unchanged: 1 },
        files: [
          { path: "_redirects", change: "added", bytes: 10 },
          { path: "b/new.html", change: "added", bytes: 4 },
          { path: "gone.html", change: "removed", bytes: 4 },
          { path: "index.html", change: "changed", bytes: 3 },
        ],
        problems: [{ file: "_redirects", line: 1, level: "error" }],
      });
      expect((await site.put(deploy, "late.html", "late")).status).not.toBe(201);
      await site.publish(deploy);
      const nothing = { added: 0, changed: 0, removed: 0, unchanged: 4, files: [] };
      expect(await site.check(deploy)).toMatchObject(nothing);
      const next = await site.prepare({ ...files, "same.css": "b {}" });
      expect(await site.check(next.deploy)).toMatchObject({
        ...{ added: 0, changed: 1, removed: 0, unchanged: 3 },
        files: [{ path: "same.css", change: "changed" }],
      });
      expect((await site.refused("check", { deploy: "aaaaaaaaaa" })).data).toMatchObject({ field: "deploy" });
    },
  );

  everyStore("takes the place of the bucket's files at once, and can be rolled back", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    await site.write({ "index.html": "old", "old.html": "old page", "css/a.css": "a {}" });

    const first = await site.prepare({ "index.html": "one", "css/a.css": "a {}", "js/app.js": "1" });
    expect(first.missing.sort()).toEqual(["index.html", "js/app.js"]);
    expect(await site.page("index.html")).toBe("old");
    const { replaced } = await site.publish(first.deploy);
    expect(await site.contents()).toEqual({
      "css/": "",
      "css/a.css": "a {}",
      "index.html": "one",
      "js/": "",
      "js/app.js": "1",
    });
    expect(await site.page("old.html")).toBe(404);

    // Content that the bucket has at another path is not uploaded again.
    const second = await site.prepare({ "index.html": "two", "css/a.css": "a {}", "lib/app.js": "1" });
    expect(second.missing).toEqual(["index.html"]);
    expect(await site.publish(second.deploy)).toMatchObject({
      deploy: second.deploy,
      replaced: first.deploy,
    });
    expect(await site.page("index.html")).toBe("two");
    expect(await site.page("lib/app.js")).toBe("1");

    expect(await site.rollback()).toMatchObject({ deploy: first.deploy, replaced: second.deploy });
    expect(await site.page("index.html")).toBe("one");
    expect(await site.page("lib/app.js")).toBe(404);
    expect(await site.rollback()).toMatchObject({ deploy: replaced ?? "", replaced: first.deploy });
    expect(await site.page("old.html")).toBe("old page");
    const nothing = await site.refused("rollback");
    expect(nothing.data).toMatchObject({ kind: "NotFound", field: "deploy" });

    expect((await site.rollback(second.deploy)).deploy).toBe(second.deploy);
    expect(await site.page("index.html")).toBe("two");
    expect((await site.list()).map(({ deploy, state, files }) => [deploy, state, files])).toEqual([
      [second.deploy, "published", 3],
      [first.deploy, "previous", 3],
      [replaced ?? "", "previous", 3],
    ]);
  });

  test("is refused while a hundred wait for their publication", async () => {
    await using node = await testNode();
    const site = await deploySite(node);
    const kept = await site.deploy({ "index.html": "one" });
    const first = await site.begin();
    // As many as a client could begin, with `force`.
    await node.sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
      INSERT INTO kv (namespace, key, value)
      SELECT namespace, printf('0000000%03d', i), json_set(value, '$.place', json_extract(value, '$.place') || i, '$.state', 'ready')
      FROM kv, n WHERE namespace = 'static-files/deploys/${node.bucket}' AND key = '${first}'`);
    const refused = await site.refused("begin", { force: true });
    expect(refused.data).toMatchObject({ reason: "too_many_deploys", limit: 100 });
    expect(await site.list()).toHaveLength(101);
    await site.remove(first);
    await site.begin({ force: true });
    expect((await site.list()).find(({ state }) => state === "published")?.deploy).toBe(kept);
  });
});
