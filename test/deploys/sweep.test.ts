import { expect } from "bun:test";
import { join } from "node:path";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { dropUnusedHeads } from "../../src/buckets/maintenance/storage-maintenance.ts";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { never } from "../support/blob-stores.ts";
import { settingsFor } from "../support/database-settings.ts";
import { deploySite } from "../support/deploys.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";

const monthMs = 31 * 24 * 3600 * 1000;

/** A sweep as it would be in a month: every blob of now is old enough to be deleted. */
async function sweptLater(node: TestNode): Promise<number> {
  const database = await openDatabase(settingsFor(node.databaseUrl), new LogHub(), { create: false });
  try {
    const blobs = new FolderBlobs(join(node.folder, "blobs"), { sync: false });
    const nowMs = Date.now() + monthMs;
    const { deletedBlobs } = await sweep({ rows: database.removed, blobs, signal: never, nowMs });
    await dropUnusedHeads(database, never);
    return deletedBlobs;
  } finally {
    await database.close();
  }
}

async function placesOf(node: TestNode): Promise<string[]> {
  const database = await openDatabase(settingsFor(node.databaseUrl), new LogHub(), { create: false });
  const heads = await database.heads.versions();
  await database.close();
  return [...heads.keys()].filter((path) => path.startsWith("~deploys/"));
}

eachDatabase("a sweep leaves the blobs of all deploys, and takes those of deleted ones", async (kind) => {
  const store = `objects over ${kind}` as const;
  await using node = await testNode({ store, top: "keep_deploys = 3\nsync_uploads = false\n" });
  const site = await deploySite(node);
  const blobs = async () => (await storedKeys(join(node.folder, "blobs"))).length;
  const filesOf = (version: string) => ({ "index.html": version, "same.css": "a {}" });
  const first = await site.deploy(filesOf("first"));
  const second = await site.deploy(filesOf("second"));
  const { deploy: ready } = await site.prepare(filesOf("ready"));
  await site.preview(ready);
  const { deploy: open } = await site.prepare(filesOf("open"));
  expect((await site.list()).map(({ state }) => state).sort()).toEqual([
    "open",
    "previous",
    "published",
    "ready",
  ]);
  expect(await blobs()).toBe(5);
  expect(await sweptLater(node)).toBe(0);
  expect(await placesOf(node)).toHaveLength(3);

  // Every one of them is whole.
  for (const [deploy, version] of [
    [first, "first"],
    [ready, "ready"],
    [open, "open"],
    [second, "second"],
  ] as const) {
    await (deploy === first || deploy === second ? site.rollback(deploy) : site.publish(deploy));
    expect(await site.contents()).toEqual(filesOf(version));
    expect(await site.page("index.html")).toBe(version);
  }
  // Of the former trees two are kept.
  while ((await site.list()).length > 3) await Bun.sleep(10);
  expect((await site.list()).map(({ deploy }) => deploy).sort()).toEqual([second, ready, open].sort());
  // The background ends with the trees, after their rows.
  while ((await sweptLater(node)) === 0) await Bun.sleep(10);
  expect(await blobs()).toBe(4);
  expect(await placesOf(node)).toHaveLength(2);

  await site.remove(open);
  expect(await sweptLater(node)).toBe(1);
  expect(await blobs()).toBe(3);
  // What two deploys have stays as long as one of them.
  await site.remove(ready);
  expect(await sweptLater(node)).toBe(1);
  expect(await placesOf(node)).toEqual([]);
  expect(await site.contents()).toEqual(filesOf("second"));
  expect(await site.page("same.css")).toBe("a {}");
});
