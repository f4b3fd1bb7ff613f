import { expect, setSystemTime } from "bun:test";
import { eachDatabase, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

eachDatabase(
  "a clock that is set back does not keep a bucket served that another process has disabled",
  async (kind) => {
    await using node = await testNode({ database: kind });
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
    const get = async () => (await fetch(`${node.url}/node/static/site/a.txt`)).status;
    expect(await get()).toBe(200);
    await node.sql("UPDATE static_file SET enable = false");
    setSystemTime(new Date(Date.now() - 2 * 60 * 60 * 1000));
    try {
      // `until` goes by the clock that stands still here.
      const deadline = performance.now() + 20_000;
      while ((await get()) !== 404) {
        expect(performance.now()).toBeLessThan(deadline);
        await Bun.sleep(20);
      }
    } finally {
      setSystemTime();
    }
  },
);
