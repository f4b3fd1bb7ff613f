import { expect, setSystemTime, test } from "bun:test";
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
  await using older = await testNode();
  await using younger = await testNode();
  const young = await uptime(younger);
  expect(await uptime(older)).toBeGreaterThan(young);
  await younger.node.reload();
  expect(await uptime(younger)).toBeGreaterThanOrEqual(young);
});

test("a clock that is set does not count", async () => {
  await using node = await testNode();
  try {
    const before = await uptime(node);
    setSystemTime(new Date(Date.now() + 86_400_000));
    expect(await uptime(node)).toBeLessThan(before + 80_000_000);
    setSystemTime(new Date(0));
    expect(await uptime(node)).toBeGreaterThanOrEqual(before);
  } finally {
    setSystemTime();
  }
});
