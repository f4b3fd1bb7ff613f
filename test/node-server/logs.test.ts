import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";

const log = async (node: TestNode) =>
  (await node.call("node-server_log", { token: node.superToken })) as LogEntry[];

test("node-server_log shows the newest entries, oldest first, as many as there is room for", async () => {
  await using node = await testNode({
    logging: 'memory_log_capacity = 5\nmemory_log_filter = "task=info"',
  });
  const task = node.node.hub.logger("task");
  expect(await log(node)).toEqual([]);
  task.info("one", { n: 1, deep: { a: [true, null] } });
  task.debug("too small");
  node.node.hub.logger("server").error("another target");
  const [entry, ...rest] = await log(node);
  expect(rest).toEqual([]);
  expect(entry).toEqual({
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/),
    level: "INFO",
    target: "task",
    message: "one",
    fields: { n: 1, deep: { a: [true, null] } },
    spans: [],
  });
  for (let n = 2; n <= 12; n += 1) task.warn(`event ${n}`);
  expect((await log(node)).map(({ message }) => message)).toEqual(
    [8, 9, 10, 11, 12].map((n) => `event ${n}`),
  );
  // Positional params, and the other form of credentials.
  expect(await node.call("node-server_log", [`root|${node.rootPassword}`])).toHaveLength(5);
});

eachDatabase(
  "node-server_log with a filter shows what passes it, and without one everything",
  async (kind) => {
    await using node = await testNode({ database: kind, logging: 'memory_log_filter = "trace"' });
    const { hub } = node.node;
    hub.logger("task").info("one");
    hub.logger("task").debug("two");
    hub.logger("kv").warn("three");
    const messages = async (log_filter: unknown) => {
      const token = node.superToken;
      const entries = (await node.call("node-server_log", { token, log_filter })) as LogEntry[];
      return entries.map(({ message }) => message);
    };
    expect(await messages("off,task=info")).toEqual(["one"]);
    expect(await messages("off,task,kv=error")).toEqual(["one", "two"]);
    expect(await messages("off,task,kv")).toEqual(["one", "two", "three"]);
    expect(await messages("off")).toEqual([]);
    expect((await messages("trace,db=off")).length).toBeGreaterThan(3);
    for (const none of [undefined, null])
      expect(await messages(none)).toEqual(expect.arrayContaining(["one", "two", "three"]));
    expect(await node.call("node-server_log", [node.superToken, "off,kv"])).toHaveLength(1);
  },
);

test("a filter that cannot be read is refused with the column of what is wrong", async () => {
  await using node = await testNode();
  await using socket = await node.socket();
  const params = { token: node.superToken, log_filter: "info, token=loud,db=trace" };
  for (const error of [
    await node.refused("node-server_log", params),
    (await socket.call("node-server_stream_log", params)).error,
  ]) {
    expect(error).toMatchObject({ code: -32602 });
    expect(error?.data).toEqual({
      kind: "InvalidParams",
      field: "log_filter",
      column: 7,
      why: "`loud` is not a level; use off, error, warn, info, debug or trace",
      detail: expect.any(String),
    });
  }
  const { data } = await node.refused("node-server_log", { token: node.superToken, log_filter: 5 });
  expect(data).toEqual({ kind: "InvalidParams", field: "log_filter", detail: expect.any(String) });
});

test("a capacity of 0 turns the memory off", async () => {
  await using node = await testNode({ logging: 'memory_log_capacity = 0\nmemory_log_filter = "trace"' });
  node.node.hub.logger("task").error("unheard");
  expect(await log(node)).toEqual([]);
});

eachDatabase("an entry tells the call it belongs to, and library targets are shown as db", async (kind) => {
  await using node = await testNode({ database: kind, logging: 'memory_log_filter = "debug,db=trace"' });
  await node.call("token_get", [node.superToken]);
  const key = node.superToken.split(":")[0];
  const entries = await log(node);
  expect(entries).toContainEqual(
    expect.objectContaining({
      level: "DEBUG",
      target: "rpc",
      message: "success",
      spans: [{ name: "token::get", fields: `token_key=${key}` }],
    }),
  );
  expect(entries.some(({ level, target }) => level === "TRACE" && target === "db")).toBe(true);
  expect(entries.every(({ target }) => !/sqlx|sea_orm/.test(target))).toBe(true);
});

test("only the Super Token reads the log", async () => {
  await using node = await testNode();
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  for (const given of [token, "no:body"]) {
    expect(await node.refused("node-server_log", [given])).toMatchObject({
      code: 102,
    });
  }
});
