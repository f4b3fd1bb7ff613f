import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { Mailbox } from "../../src/base/mailbox.ts";
import { parseFilter } from "../../src/log/filter.ts";
import type { LogHub } from "../../src/log/hub.ts";
import { openTail } from "../../src/log/tail.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { frame, openWireSocket } from "../support/hostile.ts";
import { type TestNode, testNode } from "../support/node.ts";
import type { Notification, TestSocket } from "../support/socket.ts";
import { until } from "../support/until.ts";

const { method, subscription } = declareOver<Services>();
const MiB = 1024 * 1024;

const hearEvent = async (socket: TestSocket) => (await socket.next()) as Notification;

/** What this process holds on to, once everything that can go is gone. */
async function heldMemory(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    Bun.gc(true);
    await Bun.sleep(20);
  }
  return process.memoryUsage().rss;
}

test("a reader that stalls delays nobody, and what it misses is not kept", async () => {
  const mailboxes: Mailbox<string>[] = [];
  await using node = await testNode({
    methods: {
      test_listen: subscription({
        effect: "reads",
        doc: "Hears what the test says.",
        need: anyone,
        params: {},
        event: z.string(),
        run: ({ stop }) => {
          const mailbox = new Mailbox<string>(512);
          stop.addEventListener("abort", () => mailbox.close());
          mailboxes.push(mailbox);
          return mailbox;
        },
      }),
    },
  });
  using stalled = await openWireSocket(node.url);
  stalled.write(frame('{"jsonrpc":"2.0","method":"test_listen","id":1}'));
  await stalled.hears(/"result":"/);
  stalled.stopReading();
  await using reader = await node.socket();
  await reader.call("test_listen");
  const before = await heldMemory();
  const refused = [0, 0];
  let heard = 0;
  for (let event = 0; event < 25_000; event += 1) {
    const text = `event ${event} `.padEnd(4096, "x");
    for (const [at, mailbox] of mailboxes.entries())
      if (!mailbox.offer(text)) refused[at] = (refused[at] ?? 0) + 1;
    if (event % 200 !== 199) continue;
    // The reader that keeps up hears everything while the other one hears nothing.
    for (; heard <= event; heard += 1) {
      if (!String((await hearEvent(reader)).params.result).startsWith(`event ${heard} `))
        throw new Error(`event ${heard} did not come in its turn`);
    }
  }
  expect(refused[1]).toBe(0);
  expect(refused[0]).toBeGreaterThan(12_500);
  expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  expect(await reader.call("node-server_hello")).toHaveProperty("result");
  expect(await heldMemory()).toBeLessThan(before + 50 * MiB);
  // It may come back: it hears what was on its way, then what fits, and is up to date again.
  stalled.readAgain();
  await until("the mailbox has room", () => mailboxes[0]?.offer("up to date") || undefined);
  await stalled.hears(/"result":"up to date"/);
});

test("a socket that does not read is not read from, and is answered when it reads again", async () => {
  await using node = await testNode({
    top: "max_response_body_size = 1048576",
    methods: {
      test_large: method({
        effect: "reads",
        doc: "Answers half a mebibyte.",
        need: anyone,
        params: {},
        result: z.string(),
        run: () => "x".repeat(MiB / 2),
      }),
    },
  });
  await using bystander = await node.socket();
  using stalled = await openWireSocket(node.url);
  stalled.stopReading();
  const before = await heldMemory();
  for (let turn = 0; turn < 200; turn += 1) {
    stalled.write(frame(`{"jsonrpc":"2.0","method":"test_large","id":${turn}}`));
    if (turn % 10 === 0) expect(await bystander.call("node-server_hello")).toHaveProperty("result");
  }
  expect(await heldMemory()).toBeLessThan(before + 30 * MiB);
  stalled.readAgain();
  await stalled.hears(/"id":199\}/);
  expect([...stalled.heard.matchAll(/"id":(\d+)\}/g)].map(([, id]) => Number(id))).toEqual(
    Array.from({ length: 200 }, (_, id) => id),
  );
});

/** A server whose log can be listened to; the hub is there once the node is. */
async function tailedNode(): Promise<{ node: TestNode; hub: LogHub }> {
  const late: { hub?: LogHub } = {};
  const node = await testNode({
    methods: {
      test_tail: subscription({
        effect: "reads",
        doc: "Hears the log.",
        need: anyone,
        params: { log_filter: z.string() },
        event: z.unknown(),
        run: ({ stop }, { log_filter }) => {
          if (late.hub === undefined) throw new TypeError("the node is not open yet");
          return openTail(late.hub, parseFilter(log_filter), stop);
        },
      }),
    },
  });
  late.hub = node.node.hub;
  return { node, hub: node.node.hub };
}

test("each subscriber to the log hears what its own filter lets through, from now on", async () => {
  const { node: opened, hub } = await tailedNode();
  await using node = opened;
  const task = hub.logger("task");
  task.error("before anybody listened");
  await using warned = await node.socket();
  await using curious = await node.socket();
  await warned.call("test_tail", ["warn"]);
  await curious.call("test_tail", { log_filter: "off,task=trace" });
  task.info("all is well", { tasks: 3 });
  hub.logger("kv").warn("nearly full");
  task.trace("looking");
  task.error("out of order");
  const words = async (socket: TestSocket) => {
    const { params } = await hearEvent(socket);
    const { level, target, message, fields } = params.result as Record<string, unknown>;
    return [level, target, message, fields];
  };
  expect(await words(warned)).toEqual(["WARN", "kv", "nearly full", {}]);
  expect(await words(warned)).toEqual(["ERROR", "task", "out of order", {}]);
  expect(await words(curious)).toEqual(["INFO", "task", "all is well", { tasks: 3 }]);
  expect(await words(curious)).toEqual(["TRACE", "task", "looking", {}]);
  expect(await words(curious)).toEqual(["ERROR", "task", "out of order", {}]);
});

test("a filter that cannot be read is refused, and no subscription begins", async () => {
  const { node: opened } = await tailedNode();
  await using node = opened;
  await using socket = await node.socket();
  expect(await socket.call("test_tail", ["task=loud"])).toMatchObject({
    error: { code: 108, data: { field: "log_filter" } },
  });
  expect(await socket.call("test_tail", [7])).toMatchObject({ error: { code: -32602 } });
});

test("log events that a subscriber missed are counted, and the count is told with the next one", async () => {
  const { node: opened, hub } = await tailedNode();
  await using node = opened;
  await using socket = await node.socket();
  const { result: id } = await socket.call("test_tail", ["task=info"]);
  const task = hub.logger("task");
  // In one turn of the event loop nobody can read: 512 fit.
  for (let event = 0; event < 1000; event += 1) task.info(`event ${event}`);
  for (let event = 0; event < 512; event += 1)
    expect((await hearEvent(socket)).params.result).toMatchObject({ message: `event ${event}` });
  task.info("room again");
  const { subscription, ...dropped } = (await hearEvent(socket)).params;
  expect(dropped).toEqual({ dropped: 488 });
  expect(subscription).toBe(String(id));
  expect((await hearEvent(socket)).params.result).toMatchObject({
    level: "WARN",
    target: "server",
    fields: { event: "log.dropped", dropped: 488 },
    spans: [],
  });
  expect((await hearEvent(socket)).params.result).toMatchObject({ message: "room again" });
  task.info("and on");
  expect((await hearEvent(socket)).params.result).toMatchObject({ message: "and on" });
});

test("a subscriber to everything never hears of its own delivery", async () => {
  const { node: opened, hub } = await tailedNode();
  await using node = opened;
  await using socket = await node.socket();
  await socket.call("test_tail", ["trace"]);
  const messages: unknown[] = [];
  for (const last of ["one", "the last"]) {
    hub.logger("task").info(last);
    for (let said: unknown; said !== last; ) {
      const { target, message } = (await hearEvent(socket)).params.result as Record<string, unknown>;
      // The server has statements of its own, at any moment.
      if (target !== "db") messages.push(`${target}: ${message}`);
      said = message;
    }
  }
  // The call that subscribed ends after the tail began, so its own last word may be heard.
  expect(messages.filter((message) => message !== "rpc: success")).toEqual(["task: one", "task: the last"]);
});
