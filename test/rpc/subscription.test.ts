import { expect, test } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { Fault } from "../../src/base/fault.ts";
import { Mailbox } from "../../src/base/mailbox.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { frame, openWireSocket } from "../support/hostile.ts";
import { testNode, type WireReply } from "../support/node.ts";
import type { Notification, TestSocket } from "../support/socket.ts";
import { until } from "../support/until.ts";

const { method, subscription } = declareOver<Services>();

/** A subscription whose events the test sends, and what goes with it. */
function channel() {
  const stops: AbortSignal[] = [];
  const listeners = new Set<Mailbox<unknown>>();
  const gate = Promise.withResolvers<void>();
  const table = {
    test_listen: subscription({
      effect: "reads",
      doc: "Hears what the test says; a burst is there before anybody can have asked for it.",
      need: anyone,
      params: { burst: z.int().default(0) },
      event: z.unknown(),
      run: ({ stop }, { burst }) => {
        const mailbox = new Mailbox<unknown>(512);
        stops.push(stop);
        listeners.add(mailbox);
        stop.addEventListener("abort", () => {
          listeners.delete(mailbox);
          mailbox.close();
        });
        for (let event = 0; event < burst; event += 1) mailbox.offer(event);
        return mailbox;
      },
    }),
    test_unlisten: method({
      effect: "reads",
      doc: "Ends a subscription of this connection.",
      need: anyone,
      params: { subscription: z.string() },
      result: z.boolean(),
      run: ({ cancel }, { subscription }) => cancel(subscription),
    }),
    test_wait: method({
      effect: "reads",
      doc: "Waits to be let go.",
      need: anyone,
      params: {},
      result: z.null(),
      run: async () => {
        await gate.promise;
        return null;
      },
    }),
    test_brief: subscription({
      effect: "reads",
      doc: "Ends by itself.",
      need: anyone,
      params: { words: z.array(z.string()) },
      event: z.string(),
      async *run(_, { words }) {
        yield* words;
      },
    }),
    test_breaking: subscription({
      effect: "reads",
      doc: "Breaks after its first event.",
      need: anyone,
      params: {},
      event: z.string(),
      async *run() {
        yield "so far so good";
        throw new TypeError("the stream broke");
      },
    }),
    test_refusing: subscription({
      effect: "reads",
      doc: "Refuses before there is a stream.",
      need: anyone,
      params: {},
      event: z.string(),
      run: () => {
        throw new Fault("InvalidInput", "not today");
      },
    }),
  };
  const say = (event: unknown) => {
    for (const mailbox of listeners) mailbox.offer(event);
  };
  return { table, stops, listeners, say, letGo: gate.resolve };
}

const listen = async (socket: TestSocket, method = "test_listen", params?: unknown) =>
  String((await socket.call(method, params)).result);
const hearEvent = async (socket: TestSocket) => (await socket.next()) as Notification;
const gone = ({ stops }: ReturnType<typeof channel>) =>
  until("every stream is told to stop", () => stops.every(({ aborted }) => aborted) || undefined);

test("a subscriber hears its id first, then every event in order, under the method's name", async () => {
  const { table, say } = channel();
  await using node = await testNode({ methods: table });
  await using socket = await node.socket();
  socket.send('{"jsonrpc":"2.0","method":"test_listen","params":[300],"id":1}');
  const { result: id } = (await socket.next()) as WireReply;
  expect(id).toMatch(/^[A-Za-z0-9]{22,}$/);
  say("live");
  for (const result of [...Array(300).keys(), "live"]) {
    expect(await hearEvent(socket)).toEqual({
      jsonrpc: "2.0",
      method: "test_listen",
      params: { subscription: id, result },
    } as Notification);
  }
});

test("ids precede events in a batch, and while other events storm", async () => {
  const { table, say } = channel();
  await using node = await testNode({ methods: table });
  await using socket = await node.socket();
  await listen(socket);
  const storm = setInterval(() => {
    for (let event = 0; event < 50; event += 1) say("storm");
  }, 1);
  try {
    for (let turn = 0; turn < 10; turn += 1) {
      const call = '{"jsonrpc":"2.0","method":"test_listen","params":[20],"id":1}';
      socket.send(`[${call},{"jsonrpc":"2.0","method":"node-server_hello","id":2},${call}]`);
      const early = new Set<string>();
      let answer: unknown = await socket.next();
      for (; !Array.isArray(answer); answer = await socket.next()) {
        early.add((answer as Notification).params.subscription);
      }
      const ids = [answer[0].result, answer[2].result] as string[];
      expect(ids.filter((id) => early.has(id))).toEqual([]);
      const first = new Map<string, unknown>();
      while (!ids.every((id) => first.has(id))) {
        const { params } = await hearEvent(socket);
        if (!first.has(params.subscription)) first.set(params.subscription, params.result);
      }
      expect(ids.map((id) => first.get(id))).toEqual([0, 0]);
    }
  } finally {
    clearInterval(storm);
  }
});

test("only the connection that made a subscription can end it, and only once", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table });
  await using owner = await node.socket();
  await using stranger = await node.socket();
  const [one, two] = [await listen(owner), await listen(owner)];
  expect(await stranger.call("test_unlisten", [one])).toMatchObject({ result: false });
  expect(await node.call("test_unlisten", [one])).toBe(false);
  for (const unknown of ["", "nobody", "__proto__", one.slice(1)])
    expect(await owner.call("test_unlisten", [unknown])).toMatchObject({ result: false });
  expect(events.stops.map(({ aborted }) => aborted)).toEqual([false, false]);
  expect(await owner.call("test_unlisten", { subscription: one })).toMatchObject({ result: true });
  expect(await owner.call("test_unlisten", [one])).toMatchObject({ result: false });
  expect(events.stops.map(({ aborted }) => aborted)).toEqual([true, false]);
  events.say("hello");
  expect((await hearEvent(owner)).params).toEqual({ subscription: two, result: "hello" });
  expect(await owner.call("test_unlisten", [two])).toMatchObject({ result: true });
});

test("closing the socket ends its subscriptions, however it closes, and no others", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table });
  const polite = await node.socket();
  await listen(polite);
  await listen(polite);
  await polite[Symbol.asyncDispose]();
  await gone(events);
  const rude = await openWireSocket(node.url);
  rude.write(frame('{"jsonrpc":"2.0","method":"test_listen","id":1}'));
  await rude.hears(/"result":/);
  rude[Symbol.dispose]();
  await gone(events);
  await using staying = await node.socket();
  await listen(staying);
  await (await node.socket())[Symbol.asyncDispose]();
  events.say("still here");
  expect((await hearEvent(staying)).params.result).toBe("still here");
});

test("a subscription that was asked for before the socket closed does not outlive it", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table, logging: 'memory_log_filter = "rpc=debug"' });
  const socket = await node.socket();
  const wait = '{"jsonrpc":"2.0","method":"test_wait","id":1}';
  socket.send(`[${wait},{"jsonrpc":"2.0","method":"test_listen","id":2}]`);
  await socket.call("node-server_hello");
  await socket[Symbol.asyncDispose]();
  events.letGo();
  await until("the subscription was refused", () =>
    node.node.ring
      .entries()
      .some(({ message, spans }) => message === "failed" && spans[0]?.name === "test::listen"),
  );
  expect(events.listeners.size).toBe(0);
});

test("over HTTP a subscription is refused because it needs a WebSocket, and never begins", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table });
  const error = await node.refused("test_listen");
  expect(error).toMatchObject({ code: -32000, data: { kind: "NeedsWebSocket" } });
  expect(events.stops).toEqual([]);
});

test("one connection holds 1,024 subscriptions, and one that ended makes room", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table });
  await using socket = await node.socket();
  const call = '{"jsonrpc":"2.0","method":"test_listen","id":1}';
  const ask = async (count: number) => {
    socket.send(`[${Array(count).fill(call).join(",")}]`);
    return (await socket.next()) as WireReply[];
  };
  const replies = [...(await ask(1000)), ...(await ask(24))];
  const ids = replies.map(({ result }) => result);
  expect(new Set(ids.filter((id) => typeof id === "string")).size).toBe(1024);
  const refused = await socket.call("test_listen");
  expect(refused.error).toMatchObject({ code: -32006, data: { limit: 1024 } });
  expect(events.stops.length).toBe(1024);
  // Another connection has its own.
  await using other = await node.socket();
  expect(await listen(other)).not.toBe("undefined");
  expect(await socket.call("test_unlisten", [ids[500]])).toMatchObject({ result: true });
  expect(await socket.call("test_listen")).toHaveProperty("result");
  expect(await socket.call("test_listen")).toHaveProperty("error.code", -32006);
});

test("a stream that ends, breaks or never begins gives its place back and leaves the rest alone", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table, logging: 'memory_log_filter = "error"' });
  await using socket = await node.socket();
  const staying = await listen(socket);
  const brief = await listen(socket, "test_brief", [["one", "two"]]);
  expect((await hearEvent(socket)).params).toEqual({ subscription: brief, result: "one" });
  expect((await hearEvent(socket)).params).toEqual({ subscription: brief, result: "two" });
  expect((await hearEvent(socket)).params).toEqual({ subscription: brief, end: { reason: "completed" } });
  expect(await socket.call("test_unlisten", [brief])).toMatchObject({ result: false });
  const breaking = await listen(socket, "test_breaking");
  expect((await hearEvent(socket)).params.result).toBe("so far so good");
  expect((await hearEvent(socket)).params).toEqual({ subscription: breaking, end: { reason: "failed" } });
  expect(await socket.call("test_unlisten", [breaking])).toMatchObject({ result: false });
  expect(node.node.ring.entries().map(({ message }) => message)).toEqual(["bug: the stream broke"]);
  for (let turn = 0; turn < 1100; turn += 1) {
    const { error } = await socket.call("test_refusing");
    if (error?.code !== 108) throw new Error(`turn ${turn}: ${JSON.stringify(error)}`);
  }
  events.say("still here");
  expect((await hearEvent(socket)).params).toEqual({ subscription: staying, result: "still here" });
});

test("a server that stops or restarts ends every stream with its reason, and one that was cancelled has no end", async () => {
  for (const [why, reason, code] of [
    ["stop", "shutdown", 1001],
    ["restart", "restart", 1012],
  ] as const) {
    const { table } = channel();
    await using node = await testNode({ methods: table });
    await using socket = await node.socket();
    const cancelled = await listen(socket);
    const ids = [await listen(socket), await listen(socket)];
    expect(await socket.call("test_unlisten", [cancelled])).toMatchObject({ result: true });
    const closing = node.node.close(why);
    for (const subscription of ids)
      expect((await hearEvent(socket)).params).toEqual({ subscription, end: { reason } });
    expect((await socket.closed).code).toBe(code);
    await closing;
  }
});

test("a subscription whose id did not fit into the answer does not begin", async () => {
  const events = channel();
  await using node = await testNode({ methods: events.table, top: "max_response_body_size = 150" });
  await using socket = await node.socket();
  const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
  socket.send(`[${hello},${hello},{"jsonrpc":"2.0","method":"test_listen","params":[3],"id":2}]`);
  expect(await socket.next()).toMatchObject([{ id: 1 }, { id: 1 }, { error: { code: -32008 }, id: 2 }]);
  await gone(events);
  socket.send(hello);
  expect(await socket.next()).toHaveProperty("id", 1);
});
