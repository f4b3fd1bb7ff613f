import { expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { untilMissing } from "../support/ready.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";
import { mounted } from "../support/webdav-disk.ts";

const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';

const storeEvents = ({ node }: TestNode) =>
  node.ring
    .entries()
    .flatMap(({ level, fields }) =>
      String(fields.event).startsWith("store.") ? [[level, fields.event]] : [],
    );
/** Lets the second pass for which an answer of the readiness is valid, after which exactly these parts are missing. */
async function becomesMissing(node: TestNode, clock: ManualClock, ...missing: string[]): Promise<void> {
  await clock.advance(1000);
  await untilMissing(node, ...missing);
}

const lost = ["ERROR", "store.lost"];
const restored = ["INFO", "store.restored"];

eachDatabase(
  "a folder of the buckets that vanishes is told once, and no file is answered as deleted",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, logging, clock });
    // Before the first bucket there is no such folder.
    await becomesMissing(node, clock);
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
    await becomesMissing(node, clock);
    const [here, away] = [join(node.folder, "static"), join(node.folder, "away")];
    renameSync(here, away);
    await becomesMissing(node, clock, "store");
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
    await becomesMissing(node, clock);
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
  const clock = new ManualClock();
  await using node = await testNode({ logging, clock });
  await webdavSite(node);
  await untilMissing(node);
  renameSync(join(node.folder, "static"), join(node.folder, "away"));
  await clock.advance(4999);
  expect(storeEvents(node)).toEqual([]);
  await clock.advance(1);
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
  const clock = new ManualClock();
  await using node = await testNode({ logging, clock });
  const folder = join(node.folder, "static");
  const mount = mounted("a full disk of the buckets", folder, "size=4m");
  if (mount === undefined) return;
  using held = mount;
  const { dav } = await webdavSite(node);
  expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
  await becomesMissing(node, clock);

  writeFileSync(join(folder, "filler"), Buffer.alloc(3.5 * 1024 * 1024));
  await becomesMissing(node, clock, "store");
  expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
  rmSync(join(folder, "filler"));
  await becomesMissing(node, clock);

  held.remount("ro");
  await becomesMissing(node, clock, "store");
  expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
  held.remount("rw");
  await becomesMissing(node, clock);

  held[Symbol.dispose]();
  await becomesMissing(node, clock, "store");
  expect((await fetch(`${node.url}/node/static/site/a.txt`)).status).toBe(503);
  using _again = mounted("a disk that is mounted again", folder, "size=4m");
  await becomesMissing(node, clock);
  expect(storeEvents(node)).toEqual([lost, restored, lost, restored, lost, restored]);
});
