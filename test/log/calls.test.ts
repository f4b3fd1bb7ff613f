import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

const logging = 'memory_log_filter = "trace"\nmemory_log_capacity = 100000\n';

/** The entries that `work` causes. */
async function entriesOf(node: TestNode, work: () => Promise<unknown>): Promise<LogEntry[]> {
  const before = node.node.ring.entries().length;
  await work();
  return node.node.ring.entries().slice(before);
}

const keyOf = (token: string) => token.split(":", 1)[0] ?? "";
const onRpc = (entries: LogEntry[]) => entries.filter(({ target }) => target === "rpc");

eachDatabase("a call by key is one DEBUG event in a span with the key", async (database) => {
  await using node = await testNode({ database, logging });
  const entries = await entriesOf(node, () => node.call("token_list_all_tokens", { token: node.superToken }));
  const [event, ...more] = onRpc(entries);
  expect(more).toEqual([]);
  expect(event).toEqual({
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/),
    level: "DEBUG",
    target: "rpc",
    message: "success",
    fields: { elapsed_ms: expect.any(Number) },
    spans: [{ name: "token::list_all_tokens", fields: `token_key=${keyOf(node.superToken)}` }],
  });
});

test("a call by user name has the user name in its span", async () => {
  await using node = await testNode({ logging });
  const entries = await entriesOf(node, () => node.call("token_get", { token: `root|${node.rootPassword}` }));
  expect(onRpc(entries)).toMatchObject([
    { message: "success", spans: [{ name: "token::get", fields: "username=root" }] },
  ]);
});

test("the span names the namespace and the method, also where names hold several separators", async () => {
  await using node = await testNode({ logging });
  const { superToken: token } = node;
  const entries = await entriesOf(node, async () => {
    await node.call("node-server_hello");
    await node.call("node-server_list_all_agent_uuid", { token });
    await node.call("agent-uuid_list_all", { token });
    await node.call("rpc.discover");
  });
  expect(onRpc(entries).map(({ spans }) => spans.map(({ name }) => name))).toEqual([
    ["node-server::hello"],
    ["node-server::list_all_agent_uuid"],
    ["agent-uuid::list_all"],
    ["rpc::discover"],
  ]);
});

test("a call that fails is one DEBUG event that says why", async () => {
  await using node = await testNode({ logging });
  const token = await node.newToken([]);
  const entries = await entriesOf(node, async () => {
    await node.refused("token_list_all_tokens", { token });
    await node.refused("token_get", {});
    await node.refused("token_delete", { token: node.superToken, target_token: "nobody" });
  });
  expect(onRpc(entries)).toMatchObject([
    {
      level: "DEBUG",
      message: "failed",
      fields: { elapsed_ms: expect.any(Number), error: "Permission Denied: Super token required" },
      spans: [{ name: "token::list_all_tokens" }],
    },
    { message: "failed", fields: { error: "Invalid params: token is missing" } },
    {
      message: "failed",
      fields: { error: "NotFound: no token has this key or username" },
      spans: [{ name: "token::delete", fields: `target_token=nobody token_key=${keyOf(node.superToken)}` }],
    },
  ]);
});

test("every call of a batch and of a WebSocket has its own event and span", async () => {
  await using node = await testNode({ logging });
  await using socket = await node.socket();
  const batch = ["node-server_hello", "node-server_uuid"].map((method, id) => ({
    jsonrpc: "2.0",
    method,
    id,
  }));
  const entries = await entriesOf(node, async () => {
    await node.post(JSON.stringify(batch));
    await Promise.all([
      socket.call("node-server_version"),
      socket.call("token_get", { token: node.superToken }),
    ]);
  });
  const spans = onRpc(entries).map(({ spans }) => spans.map(({ name }) => name).join());
  expect(spans.slice(0, 2)).toEqual(["node-server::hello", "node-server::uuid"]);
  expect(spans.slice(2).sort()).toEqual(["node-server::version", "token::get"]);
});

test("refused credentials are a WARN on token, with the name and the address and without the proof", async () => {
  await using node = await testNode({ logging });
  const entries = await entriesOf(node, async () => {
    await node.refused("token_get", { token: "someKey:wrong-secret" });
    await node.refused("token_list_all_tokens", { token: "some user|wrong-password" });
  });
  const warnings = entries.filter(({ level }) => level === "WARN");
  expect(warnings).toMatchObject([
    {
      target: "token",
      message: "refused credentials",
      fields: { token_key: "someKey", address: "127.0.0.1" },
      spans: [{ name: "token::get" }],
    },
    { target: "token", fields: { username: "some user" }, spans: [{ name: "token::list_all_tokens" }] },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/wrong-(secret|password)/);
});

test("right credentials without the permission are no WARN", async () => {
  await using node = await testNode({ logging });
  const token = await node.newToken([]);
  const entries = await entriesOf(node, () => node.refused("token_list_all_tokens", { token }));
  expect(entries.filter(({ level }) => level === "WARN")).toEqual([]);
});

eachDatabase(
  "every statement is a TRACE shown as db, inside the span of its call, without its values",
  async (database) => {
    await using node = await testNode({ database, logging });
    const entries = await entriesOf(node, () => node.call("token_get", { token: node.superToken }));
    // Besides, the server may keep its row in the list of nodes: a statement of no call.
    const caused = entries.filter(({ spans, message }) => spans.length > 0 || message.includes('"token"'));
    const statements = caused.filter(({ target }) => target === "db");
    expect(statements.length).toBeGreaterThan(0);
    for (const { level, message, fields, spans } of statements) {
      expect({ level, spans: spans.map(({ name }) => name) }).toEqual({
        level: "TRACE",
        spans: ["token::get"],
      });
      expect(message).toMatch(/^select .+ from "token" where /);
      expect(fields).toEqual({ elapsed_ms: expect.any(Number), rows: 1, affected: expect.any(Number) });
      expect(message).not.toContain(keyOf(node.superToken));
    }
    expect(caused.filter(({ target }) => !["db", "rpc"].includes(target))).toEqual([]);
  },
);

eachDatabase("each migration of a new database is told as db", async (database) => {
  await using node = await testNode({ database, newDatabase: true, logging });
  const told = node.node.ring.entries().filter(({ message }) => message.startsWith("applied migration"));
  expect(told.length).toBeGreaterThan(1);
  for (const entry of told) expect(entry).toMatchObject({ level: "INFO", target: "db" });
});
