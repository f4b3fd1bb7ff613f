import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deployClient, deploySite } from "../support/deploys.ts";
import { eachDatabase, newDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";

describe("a tree that cannot be discarded when its deploy is deleted", () => {
  /** A deploy that is deleted while the disk refuses to move its tree. */
  async function undiscarded(node: TestNode) {
    const site = await deploySite(node);
    await site.deploy({ "index.html": "old" });
    await site.deploy({ "index.html": "new" });
    const staging = join(node.folder, "static/~staging");
    rmSync(staging, { recursive: true, force: true });
    writeFileSync(staging, "not a folder");
    const former = (await site.list()).find(({ state }) => state === "previous")?.deploy ?? "";
    await site.remove(former);
    expect((await site.list()).map(({ state }) => state)).toEqual(["published"]);
    expect(placesOf(node)).toHaveLength(1);
    const failed = node.node.ring.entries().filter(({ fields }) => fields.event === "deploy.work_failed");
    expect(failed.length).toBeGreaterThan(0);
    return { site, mend: () => rmSync(staging) };
  }
  const logging = 'memory_log_filter = "info"\n';

  test("is discarded later", async () => {
    await using node = await testNode({ logging });
    const { site, mend } = await undiscarded(node);
    mend();
    while (placesOf(node).length > 0) {
      await site.list();
      await Bun.sleep(10);
    }
    expect(await site.page("index.html")).toBe("new");
  });

  eachDatabase("is discarded by the next start, as after a crash", async (kind) => {
    await using folder = await tempFolder();
    const database = await newDatabase(kind, folder.path);
    const options = {
      databaseUrl: database.url,
      newDatabase: true,
      logging,
      top: `static_path = ${JSON.stringify(join(folder.path, "static"))}\n`,
      env: { NODE_SERVER_SUPER_TOKEN: "key:a-secret-of-the-tests" },
    };
    {
      await using node = await testNode(options);
      const { mend } = await undiscarded({
        ...node,
        superToken: "key:a-secret-of-the-tests",
        folder: folder.path,
      });
      mend();
    }
    {
      await using node = await testNode(options);
      while (placesOf({ folder: folder.path }).length > 0) await Bun.sleep(10);
      expect(await deployClient(node).page("index.html")).toBe("new");
    }
    await database.drop();
  });
});

function placesOf(node: Pick<TestNode, "folder">): string[] {
  const folder = join(node.folder, "static/~deploys/site");
  return existsSync(folder) ? readdirSync(folder) : [];
}
