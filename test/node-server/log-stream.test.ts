import { expect, test } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import type { Notification, TestSocket } from "../support/socket.ts";
import { until, within } from "../support/until.ts";

const stream = async (node: TestNode, socket: TestSocket, log_filter: string) => {
  const reply = await socket.call("node-server_stream_log", { token: node.superToken, log_filter });
  expect(reply.error).toBeUndefined();
  return reply.result as string;
};
const hear = async (socket: TestSocket) =>
  (await within("an event comes", socket.next())) as Notification & { params: { result: LogEntry } };
const message = async (socket: TestSocket) => (await hear(socket)).params.result.message;
/** The next event that is no statement: the server has some of its own, at any moment. */
const hearOther = (socket: TestSocket) =>
  until("an event that is no statement comes", async () => {
    const { result } = (await hear(socket)).params;
    return result.target !== "db" && result;
  });

eachDatabase("a subscriber hears its id, then what is new and passes its filter", async (kind) => {
  await using node = await testNode({ database: kind });
  const task = node.node.hub.logger("task");
  task.info("history");
  await using socket = await node.socket();
  const id = await stream(node, socket, "task=info,off");
  expect(id).toMatch(/^\S{20,}$/);
  task.info("first", { n: 1 });
  task.debug("too small");
  node.node.hub.logger("token").error("another target");
  task.error("second");
  expect(await hear(socket)).toEqual({
    jsonrpc: "2.0",
    method: "node-server_stream_log",
    params: {
      subscription: id,
      result: {
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/),
        level: "INFO",
        target: "task",
        message: "first",
        fields: { n: 1 },
        spans: [],
      },
    },
  } as unknown as Awaited<ReturnType<typeof hear>>);
  expect(await message(socket)).toBe("second");
});

test("the id comes before the first event, in a batch and in the middle of a storm", async () => {
  await using node = await testNode();
  const task = node.node.hub.logger("task");
  const storm = setInterval(() => {
    for (let n = 0; n < 20; n += 1) task.info("storm");
  }, 1);
  try {
    await using socket = await node.socket();
    const params = { token: node.superToken, log_filter: "task=info" };
    const call = { jsonrpc: "2.0", method: "node-server_stream_log", params };
    for (let turn = 0; turn < 10; turn += 1) {
      const known = new Set<string>();
      socket.send(
        JSON.stringify([
          { ...call, id: 1 },
          { jsonrpc: "2.0", method: "rpc.discover", id: 2 },
          { ...call, id: 3 },
        ]),
      );
      let answer = await socket.next();
      for (; !Array.isArray(answer); answer = await socket.next())
        known.add((answer as Notification).params.subscription);
      for (const { result, id } of answer as Array<{ result: unknown; id: number }>)
        if (id !== 2) expect(known.has(String(result))).toBe(false);
    }
  } finally {
    clearInterval(storm);
  }
});

test("several subscribers hear each what its own filter lets through", async () => {
  await using node = await testNode();
  await using one = await node.socket();
  await using two = await node.socket();
  const [a, b] = [await stream(node, one, "off,task=trace"), await stream(node, one, "off,kv=warn")];
  const c = await stream(node, two, "off,task=error,kv");
  expect(new Set([a, b, c]).size).toBe(3);
  const { hub } = node.node;
  hub.logger("task").trace("t1");
  hub.logger("kv").info("k1");
  hub.logger("kv").error("k2");
  hub.logger("task").error("t2");
  const heard = async (socket: TestSocket, count: number) => {
    const found: string[] = [];
    while (found.length < count) {
      const { params } = await hear(socket);
      found.push(`${[a, b, c].indexOf(params.subscription)}:${params.result.message}`);
    }
    return found.sort();
  };
  expect(await heard(one, 3)).toEqual(["0:t1", "0:t2", "1:k2"]);
  expect(await heard(two, 3)).toEqual(["2:k1", "2:k2", "2:t2"]);
});

eachDatabase(
  "the filter debug,db=trace hears statements, and of everything else no more than DEBUG",
  async (kind) => {
    await using node = await testNode({ database: kind });
    await using socket = await node.socket();
    await stream(node, socket, "debug,db=trace");
    const task = node.node.hub.logger("task");
    task.trace("too small");
    task.debug("large enough");
    expect(await hearOther(socket)).toMatchObject({ target: "task", message: "large enough" });
    await node.call("static-bucket_list", [node.superToken]);
    // PostgreSQL looks the token up first; SQLite has its row still.
    const statement = await until("a statement about buckets is heard", async () => {
      const { result } = (await hear(socket)).params;
      return /select .*static_file/i.test(result.message) && result;
    });
    expect(statement).toMatchObject({ level: "TRACE", target: "db" });
  },
);

test("a filter that cannot be read is an error that names it, and makes no subscription", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "off"' });
  await using socket = await node.socket();
  for (const log_filter of ["", " , ", "loud", "task=loud", "a=b=c", "=info", 5, null, undefined]) {
    const { error } = await socket.call("node-server_stream_log", { token: node.superToken, log_filter });
    // A bare word that is no level is the name of a target.
    if (log_filter === "loud") continue;
    expect({ log_filter, code: error?.code, field: error?.data.field }).toEqual({
      log_filter,
      code: -32602,
      field: "log_filter",
    });
  }
  expect(node.node.hub.logger("task").wants("INFO")).toBe(false);
});

test("unsubscribing answers true once, and false for what is not one's own", async () => {
  await using node = await testNode();
  await using owner = await node.socket();
  await using stranger = await node.socket();
  const id = await stream(node, owner, "task=info,off");
  const leave = async (socket: TestSocket, params: unknown) =>
    (await socket.call("node-server_unsubscribe_stream_log", params)).result;
  expect(await leave(stranger, { subscription: id })).toBe(false);
  expect(await node.call("node-server_unsubscribe_stream_log", [id])).toBe(false);
  for (const unknown of ["", "nobody", id.slice(1)]) expect(await leave(owner, [unknown])).toBe(false);
  node.node.hub.logger("task").info("still heard");
  expect(await message(owner)).toBe("still heard");
  expect(await leave(owner, { subscription: id })).toBe(true);
  expect(await leave(owner, [id])).toBe(false);
  expect(node.node.hub.logger("task").wants("INFO")).toBe(false);
  const again = await stream(node, owner, "task=info,off");
  node.node.hub.logger("task").info("heard again");
  expect((await hear(owner)).params).toMatchObject({
    subscription: again,
    result: { message: "heard again" },
  });
});

test("closing the socket ends the stream: nobody wants the events any more", async () => {
  await using node = await testNode();
  const task = node.node.hub.logger("task");
  const socket = await node.socket();
  await stream(node, socket, "task=trace,off");
  expect(task.wants("TRACE")).toBe(true);
  await socket[Symbol.asyncDispose]();
  for (let turn = 0; task.wants("INFO") && turn < 6000; turn += 1) await Bun.sleep(5);
  expect(task.wants("INFO")).toBe(false);
});

test("over HTTP the stream is refused with a word about WebSocket", async () => {
  await using node = await testNode();
  const error = await node.refused("node-server_stream_log", [node.superToken, "info"]);
  expect(error).toMatchObject({ code: -32000, data: { kind: "NeedsWebSocket", detail: expect.any(String) } });
  expect(error.message).toContain("WebSocket");
  expect(node.node.hub.logger("task").wants("INFO")).toBe(false);
});

eachDatabase("whoever has no Super Token gets the exact words and no subscription", async (kind) => {
  await using node = await testNode({ database: kind });
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }]);
  await using socket = await node.socket();
  for (const given of [token, "no:body", "root|wrong"]) {
    const { error } = await socket.call("node-server_stream_log", { token: given, log_filter: "trace" });
    expect(error).toMatchObject({ code: 102, message: "Permission Denied: Super token required" });
  }
  expect(await socket.call("node-server_stream_log", { token: "x", log_filter: "trace" })).toMatchObject({
    error: { code: 101 },
  });
  const task = node.node.hub.logger("task");
  expect(task.wants("INFO")).toBe(false);
  task.error("unheard");
  await socket.call("node-server_hello");
  expect(socket.untaken).toEqual([]);
});

eachDatabase(
  "a subscriber at trace hears nothing of its own delivery",
  async (kind) => {
    await using node = await testNode({ database: kind });
    await using socket = await node.socket();
    await stream(node, socket, "trace");
    const task = node.node.hub.logger("task");
    task.trace("0");
    // The end of the call that subscribed is an event like any other, and comes before.
    while ((await hearOther(socket)).message !== "0");
    for (let round = 1; round <= 50; round += 1) {
      task.trace(String(round));
      expect(await hearOther(socket)).toMatchObject({ target: "task", message: String(round) });
    }
  },
  10_000,
);
