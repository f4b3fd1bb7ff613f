import { expect, test } from "bun:test";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

const uptime = async (node: TestNode, token = node.superToken) =>
  (await node.call("node-server_uptime", { token })) as number;

eachDatabase("any valid token may ask for how long the server has been running", async (database) => {
  await using node = await testNode({ database });
  const token = await node.newToken([]);
  const first = await uptime(node, token);
  expect(Number.isSafeInteger(first)).toBe(true);
  expect(first).toBeGreaterThan(0);
  expect(await uptime(node)).toBeGreaterThanOrEqual(first);
  expect(await node.refused("node-server_uptime", { token: "no:body" })).toMatchObject({ code: 102 });
  expect(await node.refused("node-server_uptime")).toMatchObject({ code: -32602, data: { field: "token" } });
});

test("each server counts from its own start, and a reload is none", async () => {
  const clock = new ManualClock();
  await using older = await testNode({ clock });
  await clock.advance(60_000);
  await using younger = await testNode({ clock });
  await younger.node.reload();
  await clock.advance(1000);
  expect([await uptime(older), await uptime(younger)]).toEqual([61_000, 1000]);
});

test("a clock that is set does not count", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  await clock.advance(1000);
  for (const wallMs of [clock.now() + 86_400_000, 0]) {
    clock.set(wallMs);
    expect(await uptime(node)).toBe(1000);
  }
});
