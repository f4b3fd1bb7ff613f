import { expect } from "bun:test";
import { methods } from "../../src/methods/index.ts";
import { maxOpenStructure } from "../../src/rpc/envelope.ts";
import type { TestNode, WireReply } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

/** More values than a stranger may have parsed. */
const many = `[${Array(maxOpenStructure + 10).fill("0")}]`;

const heavy = (params: string) =>
  `{"jsonrpc":"2.0","method":"token_get","params":${params},"more":${many},"id":1}`;

async function post(node: TestNode, body: string): Promise<{ status: number; reply: WireReply }> {
  const response = await node.post(body);
  return { status: response.status, reply: (await response.json()) as WireReply };
}

test("a request of many values is parsed for callers that know a valid token, wherever a method takes it", async () => {
  await using node = await sharedNode();
  const token = JSON.stringify(node.superToken);
  const taken = new Set(
    Object.values(methods).flatMap(({ names }) => names.filter((name) => /token/.test(name))),
  );
  for (const name of ["token", "father_token", "supertoken"]) {
    expect(taken).toContain(name);
    const { reply } = await post(node, heavy(`{"${name}" : ${token}, "token":${token}}`));
    expect([name, reply.error]).toEqual([name, undefined]);
  }
  expect((await post(node, heavy(`[ ${token} ]`))).reply.error).toBeUndefined();
  expect((await post(node, heavy(`["root|${node.rootPassword}"]`))).reply.error).toBeUndefined();
  const batch = `[${heavy(`[${token}]`)},${heavy(`[${token}]`)}]`;
  expect((await post(node, batch)).reply).toMatchObject([{ id: 1 }, { id: 1 }]);
});

test("without a valid token it is refused, whatever it looks like", async () => {
  await using node = await sharedNode();
  const key = node.superToken.split(":")[0];
  for (const params of ["[]", "{}", '{"token":1}', '["no token"]', '{"token":"a\\', "[[[["]) {
    const { status, reply } = await post(node, heavy(params));
    expect([params, reply.result, [200, 413].includes(status)]).toEqual([params, undefined, true]);
    expect([params, [-32007, 101]]).toEqual([params, expect.arrayContaining([reply.error?.code])]);
  }
  for (const token of [`${key}:${"x".repeat(32)}`, "root|wrong", "nobody:nothing"]) {
    const { reply } = await post(node, heavy(`{"token":"${token}"}`));
    expect(reply).toMatchObject({ error: { code: 102, data: { reason: "invalid_credentials" } }, id: null });
  }
});

test("over a WebSocket the same holds until one call has proven a token", async () => {
  await using node = await sharedNode();
  await using socket = await node.socket();
  socket.send(heavy("[]"));
  expect(await socket.next()).toMatchObject({ error: { code: -32007, data: { limit: maxOpenStructure } } });
  expect(await socket.call("token_get", [node.superToken])).toHaveProperty("result");
  socket.send(heavy("[]"));
  expect(await socket.next()).toMatchObject({ error: { code: -32602 }, id: 1 });
});

test("large requests of few values are for everybody: a text, base64, white space", async () => {
  await using node = await sharedNode();
  for (const filling of [`"${"x".repeat(5_000_000)}"`, " ".repeat(5_000_000)]) {
    const body = `{"jsonrpc":"2.0","method":"node-server_hello","id":1,"params":[${filling}]}`;
    const { status, reply } = await post(node, body);
    expect([status, reply.id]).toEqual([200, 1]);
  }
});
