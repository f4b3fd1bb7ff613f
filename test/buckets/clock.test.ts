import { expect } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

eachDatabase(
  "a clock that is set back does not keep a bucket served that another process has disabled",
  async (kind) => {
    const clock = new ManualClock();
    await using node = await testNode({ database: kind, clock });
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
    const get = async () => (await fetch(`${node.url}/node/static/site/a.txt`)).status;
    expect(await get()).toBe(200);
    const begin = clock.monotonic();
    await node.sql("UPDATE static_file SET enable = false");
    clock.set(clock.now() - 2 * 60 * 60 * 1000);
    await clock.until("the bucket is not served any more", 100, async () => (await get()) === 404);
    expect(clock.monotonic() - begin).toBeLessThanOrEqual(1000);
  },
);
