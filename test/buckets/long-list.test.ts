import { expect, test } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { eachStore, testNode, type WireReply } from "../support/node.ts";

const nameOf = (at: number) => `folder ${at % 3}/"é" ${at}.txt`;
const list = (token: string) => ({
  jsonrpc: "2.0",
  method: "static-bucket-file_list",
  params: { token, name: "site" },
  id: 1,
});

eachStore("a list of any length is the same by POST, in a batch and over a WebSocket", async (store) => {
  await using node = await testNode(store);
  const { stored } = await siteWith(node, {});
  await using socket = await node.socket();
  const request = list(node.superToken);
  let written = 0;
  // Around the length that is written at once, and around two parts of a longer one.
  for (const count of [0, 256, 257, 500, 501, 1001]) {
    const missing = Array.from({ length: count - written }, (_, at) => written + at);
    await stored.write(Object.fromEntries(missing.map((at) => [nameOf(at), "x".repeat(at % 7)])));
    written = count;
    const { result } = (await (await node.post(JSON.stringify(request))).json()) as WireReply;
    const paths = Array.from({ length: count }, (_, at) => nameOf(at)).sort();
    expect((result as Array<{ path: string }>).map(({ path }) => path)).toEqual(paths);
    const batch = await node.post(JSON.stringify([request, { ...request, id: 2 }]));
    expect(await batch.json()).toEqual([
      { jsonrpc: "2.0", result, id: 1 },
      { jsonrpc: "2.0", result, id: 2 },
    ]);
    expect((await socket.call(request.method, request.params)).result).toEqual(result);
  }
});

test("a list for which the memory for clients has no room is refused, a shorter one is given", async () => {
  await using node = await testNode({ top: "client_memory_bytes = 500000" });
  const { stored } = await siteWith(node, {});
  const write = (folder: string, count: number) =>
    stored.write(
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`${folder}/${`${at}`.padEnd(200, "x")}`, ""]),
      ),
    );
  await write("long", 3000);
  await write("short", 1000);
  const { superToken: token } = node;
  const answer = (path: string) =>
    node.post(JSON.stringify({ ...list(token), params: { token, name: "site", path } }));
  const refused = await answer("long");
  expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: -32009 }, id: 1 }]);
  for (let turn = 0; turn < 5; turn += 1) {
    const given = await answer("short");
    expect([given.status, ((await given.json()) as WireReply).result]).toMatchObject([200, { length: 1000 }]);
  }
});
