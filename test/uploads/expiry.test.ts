import { expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { distinctBytes, resumable } from "../support/resumable.ts";
import { storedSite } from "../support/stored-site.ts";
import { until } from "../support/until.ts";

/** The files that hold content which belongs to no file of the bucket. */
function pieces(node: TestNode): number {
  const folder = join(node.folder, node.store === "disk" ? "static/~uploads" : "blobs/blobs");
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length;
}

eachStore(
  "an upload whose time has passed is gone, and so is its content soon after a start",
  async (store) => {
    const clock = new ManualClock();
    await using node = await testNode({ ...store, clock });
    await storedSite(node);
    await node.call("static-bucket_create", { token: node.superToken, name: "deleted" });
    const { address: addressOf, append, offsetOf, unfinished } = resumable(node.url, node.superToken);
    const bytes = distinctBytes(2000);
    const [late, live, stray] = [
      await addressOf("site/late.bin", 2000),
      await addressOf("site/live.bin", 2000),
      await addressOf("deleted/stray.bin", 2000),
    ];
    for (const address of [late, live, stray]) await append(address, 0, bytes.slice(0, 1000));
    expect(pieces(node)).toBe(3);
    const id = late.split("=")[1];
    const isSqlite = node.databaseUrl.startsWith("sqlite");
    await node.sql(
      isSqlite
        ? `UPDATE kv SET value = json_set(value, '$.expires', 1) WHERE key = '${id}'`
        : `UPDATE kv SET value = value || '{"expires": 1}'::jsonb WHERE key = '${id}'`,
    );
    await node.call("static-bucket_delete", { token: node.superToken, name: "deleted" });
    expect(await offsetOf(late)).toBe(404);
    expect(await unfinished("site/")).toMatchObject([{ address: live }]);
    await clock.advance(5000);
    await until("what is left of them is removed", () => pieces(node) === 1);
    expect((await append(live, 1000, bytes.slice(1000))).headers.get("upload-put-status")).toBe("201");
  },
);

eachStore(
  "who asks for the offset ends a request that looks alive, and what it brought is kept",
  async (store) => {
    await using node = await testNode(store);
    const site = await storedSite(node);
    const { address: addressOf, append, offsetOf } = resumable(node.url, node.superToken);
    const bytes = distinctBytes(2000);
    const address = await addressOf("site/a.bin", 2000);
    /** Sends the first 700 bytes and no more, and asks for the offset a little later. */
    const offsetAfter = async (pauseMs: number) => {
      const begun = Promise.withResolvers<void>();
      const silent = new ReadableStream({
        async pull(controller) {
          controller.enqueue(bytes.slice(0, 700));
          begun.resolve();
          await new Promise(() => {});
        },
      });
      let isOver = false;
      void append(address, 0, silent)
        .catch(() => undefined)
        .then(() => {
          isOver = true;
        });
      await begun.promise;
      await Bun.sleep(pauseMs);
      // A question that overtakes the whole request does not end it.
      await until("the request is ended", async () => {
        await offsetOf(address);
        return isOver;
      });
      return offsetOf(address);
    };
    // A question that overtakes the bytes ends the request without them.
    let pauseMs = 5;
    await until("its bytes are counted", async () => {
      pauseMs *= 2;
      return (await offsetAfter(pauseMs)) === 700;
    });
    expect((await append(address, 700, bytes.slice(700))).headers.get("upload-put-status")).toBe("201");
    expect(Buffer.from(bytes).equals(await site.bytes("a.bin"))).toBe(true);
  },
);

eachStore("a token has at most 100 unfinished uploads", async (store) => {
  await using node = await testNode(store);
  await storedSite(node);
  const { begin } = resumable(node.url, node.superToken);
  const answers = await Promise.all(Array.from({ length: 104 }, (_, n) => begin(`site/${n}.bin`, 10)));
  const refused = answers.filter(({ status }) => status === 429);
  expect([answers.filter(({ status }) => status === 201).length, refused.length]).toEqual([100, 4]);
  expect(refused[0]?.headers.get("x-error-reason")).toBe("too_many_uploads");
});
