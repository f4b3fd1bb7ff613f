import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
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
  "however many ask whether the server is ready, the database is asked about once a second",
  async (database) => {
    await using node = await testNode({
      database,
      logging: 'memory_log_filter = "off,db=trace"\nmemory_log_capacity = 10000\n',
    });
    // The start reads the same.
    const asked = () =>
      node.node.ring
        .entries()
        .filter(({ message }) => /^select "version" from "seaql_migrations"/.test(message)).length;
    const before = asked();
    const startedAt = performance.now();
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const { status } = await fetch(`${node.url}/node/ready`);
          expect(status).toBe(200);
        }),
      );
    const seconds = (performance.now() - startedAt) / 1000;
    const count = asked() - before;
    expect(count).toBeGreaterThanOrEqual(1);
    expect(count).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
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
  const restarted = Promise.withResolvers<void>();
  const logging = 'memory_log_filter = "info"\n';
  await using node = await testNode({
    methods,
    restart: restarted.resolve,
    logging,
    top: "drain_seconds = 4\n",
  });
  const ready = async () => {
    const response = await fetch(`${node.url}/node/ready`);
    return [response.status, await response.json()];
  };
  expect(await ready()).toEqual([200, { status: "ready" }]);
  await node.call("test_restart");
  expect(await ready()).toEqual([503, { status: "unavailable", missing: ["draining"] }]);
  expect(await (await fetch(`${node.url}/node/health`)).json()).toMatchObject({
    status: "ok",
    draining: true,
  });
  // Not after the usual 3 seconds: a load balancer needs longer to notice.
  const scheduled = node.node.ring
    .entries()
    .find(({ fields }) => fields.event === "server.restart_scheduled");
  expect(scheduled?.fields.delay_ms).toBe(4000);
  expect(node.node.startDraining()).toBeWithin(0, 4000);
  await restarted.promise;
});
