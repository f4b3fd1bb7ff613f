import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, testNode } from "../support/node.ts";

eachDatabase(
  "anybody may ask whether the server is alive and ready, by GET and by HEAD",
  async (database) => {
    await using node = await testNode({ database });
    const health = await fetch(`${node.url}/node/health`);
    expect([health.status, health.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await health.json()).toEqual({
      status: "ok",
      version: ((await node.call("node-server_version")) as { cargo_version: string }).cargo_version,
      uptime_ms: expect.any(Number),
    });
    const ready = await fetch(`${node.url}/node/ready`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: "ready" }]);
    for (const path of ["health", "ready"]) {
      const head = await fetch(`${node.url}/node/${path}`, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
      const post = await fetch(`${node.url}/node/${path}`, { method: "POST" });
      expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  },
);

eachDatabase(
  "however many ask whether the server is ready, the database is asked once a second",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({
      database,
      logging: 'memory_log_filter = "off,db=trace"\nmemory_log_capacity = 10000\n',
      clock,
    });
    // The start reads the same.
    const asked = () =>
      node.node.ring
        .entries()
        .filter(({ message }) => /^select "version" from "seaql_migrations"/.test(message)).length;
    const before = asked();
    for (const [ms, times] of [
      [0, 1],
      [999, 1],
      [1, 2],
    ] as const) {
      await clock.advance(ms);
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const { status } = await fetch(`${node.url}/node/ready`);
          expect(status).toBe(200);
        }),
      );
      expect(asked() - before).toBe(times);
    }
  },
);

test("a server that restarts shortly says so, and still answers", async () => {
  const methods = {
    test_restart: method({
      doc: "Schedules a restart.",
      need: anyone,
      effect: "changes",
      params: {},
      result: z.null(),
      example: { params: {}, result: null },
      run: ({ scheduleRestart }) => {
        scheduleRestart();
        return null;
      },
    }),
  };
  const clock = new ManualClock();
  let restarts = 0;
  const logging = 'memory_log_filter = "info"\n';
  await using node = await testNode({
    methods,
    restart: () => {
      restarts += 1;
    },
    logging,
    top: "drain_seconds = 40\n",
    clock,
  });
  const ready = async () => {
    const response = await fetch(`${node.url}/node/ready`);
    return [response.status, await response.json()];
  };
  expect(await ready()).toEqual([200, { status: "ready" }]);
  await node.call("test_restart");
  const judged = { verdict: "attention", reasons: [{ code: "draining", level: "attention" }] };
  expect(await ready()).toEqual([503, { status: "unavailable", missing: ["draining"], ...judged }]);
  expect(await (await fetch(`${node.url}/node/health`)).json()).toMatchObject({
    status: "ok",
    draining: true,
    ...judged,
  });
  // Not after the usual 3 seconds: a load balancer needs longer to notice.
  const scheduled = node.node.ring
    .entries()
    .find(({ fields }) => fields.event === "server.restart_scheduled");
  expect(scheduled?.fields.delay_ms).toBe(40_000);
  await clock.advance(39_999);
  expect([node.node.startDraining(), restarts]).toEqual([1, 0]);
  await clock.advance(1);
  expect([node.node.startDraining(), restarts]).toEqual([0, 1]);
});
