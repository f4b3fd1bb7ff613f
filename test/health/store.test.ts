import { expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/process.ts";
import { untilMissing } from "../support/ready.ts";
import { webdavSite } from "../support/webdav.ts";
import { mounted } from "../support/webdav-disk.ts";

const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';

const storeEvents = ({ node }: TestNode) =>
  node.ring
    .entries()
    .flatMap(({ level, fields }) =>
      String(fields.event).startsWith("store.") ? [[level, fields.event]] : [],
    );
const lost = ["ERROR", "store.lost"];
const restored = ["INFO", "store.restored"];

eachDatabase(
  "a folder of the buckets that vanishes is told once, and no file is answered as deleted",
  async (database) => {
    await using node = await testNode({ database, logging });
    // Before the first bucket there is no such folder.
    await untilMissing(node);
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
    await untilMissing(node);
    const [here, away] = [join(node.folder, "static"), join(node.folder, "away")];
    renameSync(here, away);
    await untilMissing(node, "store");
    const answers = [await fetch(`${node.url}/node/static/site/a.txt`), await dav("GET", "/a.txt")];
    for (const { status, headers } of answers)
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await dav("PUT", "/b.txt", {}, "b")).status).toBe(503);
    expect(await node.refused("static-bucket-file_read", [node.superToken, "site", "a.txt"])).toMatchObject({
      code: 101,
      data: { kind: "IoError", reason: "unavailable", retry_after_seconds: 5 },
    });
    rmSync(here, { recursive: true, force: true });
    renameSync(away, here);
    await untilMissing(node);
    expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
    expect(storeEvents(node)).toEqual([lost, restored]);
    const [line] = node.node.ring.entries().filter(({ fields }) => fields.event === "store.lost");
    expect(line?.fields).toEqual({
      event: "store.lost",
      static_path: here,
      reason: "the folder does not exist; put it back, or mount its file system",
    });
  },
);

test("a server that nobody asks notices by itself that the folder of the buckets is gone", async () => {
  await using node = await testNode({ logging });
  await webdavSite(node);
  await untilMissing(node);
  renameSync(join(node.folder, "static"), join(node.folder, "away"));
  await until("the log tells the loss", () => Bun.deepEquals(storeEvents(node), [lost]) || undefined);
});

test("a folder that is missing when its configuration is applied is told at once", async () => {
  await using node = await testNode({ logging });
  await webdavSite(node);
  // A folder that was never there, although the database has a bucket.
  const config = await Bun.file(node.configPath).text();
  writeFileSync(node.configPath, config.replace('/static"', '/nowhere"'));
  expect(await node.node.reload()).toBe("applied");
  expect(storeEvents(node)).toEqual([lost]);
  await untilMissing(node, "store");
});

test("a full disk, a read-only one, and one that was unmounted are not ready; files that can be read are served", async () => {
  await using node = await testNode({ logging });
  const folder = join(node.folder, "static");
  const mount = mounted("a full disk of the buckets", folder, "size=4m");
  if (mount === undefined) return;
  using held = mount;
  const { dav } = await webdavSite(node);
  expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
  await untilMissing(node);

  writeFileSync(join(folder, "filler"), Buffer.alloc(3.5 * 1024 * 1024));
  await untilMissing(node, "store");
  expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
  rmSync(join(folder, "filler"));
  await untilMissing(node);

  held.remount("ro");
  await untilMissing(node, "store");
  expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
  held.remount("rw");
  await untilMissing(node);

  held[Symbol.dispose]();
  await untilMissing(node, "store");
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(503);
  using _again = mounted("a disk that is mounted again", folder, "size=4m");
  await untilMissing(node);
  expect(storeEvents(node)).toEqual([lost, restored, lost, restored, lost, restored]);
});
