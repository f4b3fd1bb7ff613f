import { expect } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { hello } from "../support/process.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { within } from "../support/until.ts";

const sharedNode = sharedNodes();

const readLogs = [{ scopes: ["global"], permissions: [{ node: "read_logs" }] }];
const readStorage = [{ scopes: ["global"], permissions: [{ node: "read_storage" }] }];
const keyOf = (token: string) => token.split(":")[0];

async function messages(node: TestNode, params: Record<string, unknown>): Promise<string[]> {
  const entries = (await node.call("log_list", params)) as LogEntry[];
  return entries.map(({ message }) => message);
}

eachDatabase("a token that may read logs gets the entries in memory, filtered and limited", async (kind) => {
  await using node = await testNode({ database: kind, logging: 'memory_log_filter = "off,task,kv"' });
  const task = node.node.hub.logger("task");
  for (const message of ["one", "two", "three"]) task.info(message);
  node.node.hub.logger("kv").warn("four");
  const token = await node.newToken(readLogs);
  expect(await messages(node, { token })).toEqual(["one", "two", "three", "four"]);
  expect(await messages(node, { token, log_filter: "off,task" })).toEqual(["one", "two", "three"]);
  expect(await messages(node, { token, log_filter: "off,task", limit: 2 })).toEqual(["two", "three"]);
  expect(await messages(node, { token, log_filter: null, limit: null })).toHaveLength(4);
  expect(await node.call("log_list", [node.superToken, "info", 1])).toMatchObject([{ message: "four" }]);
  for (const limit of [0, -1, 1.5, "2"])
    expect(await node.refused("log_list", { token, limit })).toMatchObject({
      code: -32602,
      data: { field: "limit" },
    });
});

eachDatabase(
  "a token that may read logs is still refused by the methods of the Super Token",
  async (kind) => {
    await using node = await sharedNode({ database: kind });
    const token = await node.newToken([...readLogs, ...readStorage]);
    await using socket = await node.socket();
    const params = { token, log_filter: "info" };
    for (const { error } of [
      await node.send("node-server_log", params),
      await node.send("node-server_database_storage", params),
      await socket.call("node-server_stream_log", params),
    ])
      expect(error).toMatchObject({ code: 102, data: { reason: "missing_permission" } });
  },
);

eachDatabase(
  "without the permission in scope global each method names the one that is missing",
  async (kind) => {
    await using node = await sharedNode({ database: kind });
    await using socket = await node.socket();
    const elsewhere = [
      { scopes: [{ static_bucket: "*" }], permissions: [{ node: "read_logs" }, { node: "read_storage" }] },
      { scopes: ["global"], permissions: [{ node: "exec_sql" }, { node: "metrics" }] },
    ];
    const token = await node.newToken(elsewhere);
    const params = { token, log_filter: "info" };
    const denied = (action: string) => ({
      code: 102,
      data: { reason: "missing_permission", permissions: [{ node: action }], scope: "global" },
    });
    expect(await node.refused("log_list", params)).toMatchObject(denied("read_logs"));
    expect((await socket.call("log_stream", params)).error).toMatchObject(denied("read_logs"));
    expect(await node.refused("storage_read", { token })).toMatchObject(denied("read_storage"));
  },
);

eachDatabase("a log stream has its own method name, and ends when asked to", async (kind) => {
  await using node = await testNode({ database: kind });
  await using socket = await node.socket();
  const token = await node.newToken(readLogs);
  const { result: id } = await socket.call("log_stream", { token, log_filter: "off,task" });
  node.node.hub.logger("task").info("heard");
  expect(await within("an event comes", socket.next())).toMatchObject({
    method: "log_stream",
    params: { subscription: id, result: { message: "heard" } },
  });
  expect((await socket.call("log_unsubscribe_stream", { subscription: id })).result).toBe(true);
  expect((await socket.call("log_unsubscribe_stream", [id])).result).toBe(false);
});

for (const [how, revoke] of [
  [
    "loses the permission",
    (node: TestNode, key: string) => ["token_edit", [node.superToken, key, readStorage]],
  ],
  ["is deleted", (node: TestNode, key: string) => ["token_delete", [node.superToken, key]]],
] as const)
  eachDatabase(`the log stream of a token that ${how} ends at once`, async (kind) => {
    await using node = await sharedNode({ database: kind });
    await using socket = await node.socket();
    const token = await node.newToken(readLogs);
    const { result: id } = await socket.call("log_stream", { token, log_filter: "off" });
    const [method, params] = revoke(node, keyOf(token) ?? "");
    await node.call(String(method), params);
    expect(await within("the last entry comes", socket.next())).toMatchObject({
      method: "log_stream",
      params: { subscription: id, result: { fields: { event: "log.ended", reason: "token_invalid" } } },
    });
    expect(await within("the end comes", socket.next())).toMatchObject({
      method: "log_stream",
      params: { subscription: id, end: { reason: "token_invalid" } },
    });
    expect((await socket.call("node-server_hello")).result).toBe(hello);
  });

eachDatabase("a token that may read the storage gets what the Super Token gets", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const token = await node.newToken(readStorage);
  const all = await node.call("node-server_database_storage", [node.superToken]);
  expect(await node.call("storage_read", { token })).toEqual(all);
  expect(await node.call("storage_read", [node.superToken])).toEqual(all);
});

eachDatabase("the right to read logs can be handed on only by a token that has it", async (kind) => {
  await using node = await sharedNode({ database: kind });
  const maker = await node.newToken([{ scopes: ["global"], permissions: [{ token: "create" }] }]);
  const refused = await node.refused("token_create", [maker, { token_limit: readLogs }]);
  expect(refused).toMatchObject({ code: 102, data: { field: "token_limit" } });
  const reader = await node.newToken([
    { scopes: ["global"], permissions: [{ token: "create" }, { node: "read_logs" }] },
  ]);
  expect(await node.call("token_create", [reader, { token_limit: readLogs }])).toMatchObject({
    key: expect.any(String),
  });
});
