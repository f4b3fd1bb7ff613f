import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone, anyToken } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { postHead, Wire } from "../support/hostile.ts";
import { type TestNode, testNode, type WireReply } from "../support/node.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";

const further = leftToAll(test);

const { method } = declareOver<Services>();
const MB = 1_000_000;
/** Strangers of one address have a quarter of it. */
const top = `client_memory_bytes = ${8 * MB}\nmax_request_body_size = ${20 * MB}`;

const repeat = {
  doc: "Answers a text so many times.",
  effect: "reads" as const,
  params: { times: z.int() },
  result: z.string(),
  run: (_: unknown, { times }: { times: number }) => "x".repeat(times),
};
const methods = {
  test_known: method({ ...repeat, need: anyToken }),
  test_open: method({ ...repeat, need: anyone }),
};

const call = (name: string, params: unknown, id = 1) =>
  JSON.stringify({ jsonrpc: "2.0", method: name, params, id });
const hello = (bytes: number) => call("node-server_hello", { padding: "x".repeat(bytes) });
const status = async (node: TestNode, body: string) => (await node.post(body)).status;

test("a body that the budget has no room for is 503 with Retry-After, and ordinary calls go on", async () => {
  await using node = await testNode({ top });
  const refused = await node.post(hello(3 * MB));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({
    error: { code: -32009, data: { retry_after_seconds: 1 } },
    id: null,
  });
  expect([await status(node, hello(100)), await status(node, hello(1.9 * MB))]).toEqual([200, 200]);
});

further("what a client holds is given back however it leaves", async () => {
  await using node = await testNode({ top });
  const almostAll = hello(1.9 * MB);
  const endings = [
    "Content-Length: 1900000",
    "Transfer-Encoding: chunked",
    "Content-Length: 90000",
    "Content-Length: 30000000",
  ];
  for (const header of endings) {
    for (let turn = 0; turn < 3; turn += 1) {
      const wire = await Wire.open(node.url);
      const chunk = `${(0x1_0000).toString(16)}\r\n${" ".repeat(0x1_0000)}\r\n`;
      wire.write(postHead("Content-Type: application/json", header));
      wire.write(chunk.repeat(20));
      await Bun.sleep(5);
      wire[Symbol.dispose]();
    }
    await until(`all is given back after ${header}`, async () => (await status(node, almostAll)) === 200);
  }
});

test("an answer that the budget has no room for is an error for its call; those that fit are given", async () => {
  await using node = await testNode({ top, methods });
  const { superToken: token } = node;
  const refused = await node.post(call("test_known", { token, times: 9 * MB }, 7));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({ error: { code: -32009 }, id: 7 });
  const batch = [9 * MB, 100, 4 * MB, 5 * MB].map((times, id) => call("test_known", { token, times }, id));
  const answer = await node.post(`[${batch.join(",")}]`);
  expect(answer.status).toBe(200);
  const replies = (await answer.json()) as WireReply[];
  expect(replies.map(({ id, error, result }) => [id, error?.code ?? String(result).length])).toEqual([
    [0, -32009],
    [1, 100],
    [2, 4 * MB],
    [3, -32009],
  ]);
  // All of it is free again.
  expect(await status(node, call("test_known", { token, times: 7 * MB }))).toBe(200);
});

test("a socket that has proven a token may be sent more than a stranger's", async () => {
  await using node = await testNode({ top, methods });
  await using socket = await node.socket();
  expect((await socket.call("test_open", { times: 300_000 })).error?.code).toBe(-32008);
  const large = await socket.call("test_known", { token: node.superToken, times: 3 * MB });
  expect(String(large.result)).toHaveLength(3 * MB);
  expect((await socket.call("test_known", { token: node.superToken, times: 9 * MB })).error?.code).toBe(
    -32009,
  );
  expect(await socket.call("node-server_hello")).toHaveProperty("result");
});

test("an answer counts once, whether it is made, sent or read", async () => {
  await using node = await testNode({ top, methods });
  await using socket = await node.socket();
  for (const times of [5 * MB, 6 * MB, 7 * MB]) {
    const { result } = await socket.call("test_known", { token: node.superToken, times });
    expect([times, String(result).length]).toEqual([times, times]);
  }
  expect(await socket.call("node-server_hello")).toHaveProperty("result");
});

test("a reload sets another budget at once", async () => {
  await using node = await testNode({ top });
  expect(await status(node, hello(3 * MB))).toBe(503);
  const config = await Bun.file(node.configPath).text();
  await Bun.write(
    node.configPath,
    config.replace("client_memory_bytes = 8000000", "client_memory_bytes = 0"),
  );
  expect(await node.node.reload()).toBe("applied");
  expect(await status(node, hello(3 * MB))).toBe(200);
});
