import { expect } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { frame, openWireSocket } from "../support/hostile.ts";
import { testNode } from "../support/node.ts";
import { newHome } from "../support/process.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

const sharedNode = sharedNodes();

const { method } = declareOver<Services>();
const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
const helloAnswer = { jsonrpc: "2.0", result: "Node Server Is Running!", id: 1 };

test("a call may come as text or as bytes, whole or in fragments", async () => {
  await using node = await sharedNode();
  await using socket = await node.socket();
  socket.send(hello);
  expect(await socket.next()).toEqual(helloAnswer);
  socket.send(Buffer.from(hello));
  expect(await socket.next()).toEqual(helloAnswer);
  using wire = await openWireSocket(node.url);
  wire.write(frame(hello.slice(0, 10), 0x01));
  wire.write(frame("are you there?", 0x89));
  wire.write(frame(hello.slice(10), 0x80));
  await wire.hears(/\x8a\x0eare you there\?/);
  await wire.hears(/"result":"Node Server Is Running!"/);
});

test("what is not a request is answered on the socket and does not close it", async () => {
  await using node = await sharedNode();
  await using socket = await node.socket();
  for (const garbage of ["", "{", "hello", "\u0000", '{"jsonrpc":', "[".repeat(100_000), new Uint8Array(9)]) {
    socket.send(garbage);
    expect(await socket.next()).toMatchObject({ error: { code: -32700 }, id: null });
  }
  socket.send(Uint8Array.of(0xff, 0xfe, 0x00, 0xc0));
  expect(await socket.next()).toMatchObject({ error: { code: -32700 }, id: null });
  socket.send(hello);
  expect(await socket.next()).toEqual(helloAnswer);
});

test("calls on one socket run at the same time: a slow one does not hold up a fast one", async () => {
  const gate = Promise.withResolvers<void>();
  await using node = await testNode({
    methods: {
      test_wait: method({
        effect: "reads",
        doc: "Waits to be let go.",
        need: anyone,
        params: {},
        result: z.string(),
        run: async () => {
          await gate.promise;
          return "at last";
        },
      }),
    },
  });
  await using socket = await node.socket();
  const slow = socket.call("test_wait");
  const slower = socket.call("test_wait");
  expect(await socket.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
  gate.resolve();
  expect(await slow).toMatchObject({ result: "at last" });
  expect(await slower).toMatchObject({ result: "at last" });
});

test("a call beside 100 running ones of a stranger's socket waits for one of them, and holds up no other socket", async () => {
  const gate = Promise.withResolvers<void>();
  await using node = await testNode({
    methods: {
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
    },
  });
  await using socket = await node.socket();
  const running = Array.from({ length: 100 }, () => socket.call("test_wait"));
  let isAnswered = false;
  const waiting = socket.call("node-server_hello").finally(() => {
    isAnswered = true;
  });
  await using other = await node.socket();
  for (let turn = 0; turn < 20; turn += 1)
    expect(await other.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
  expect(isAnswered).toBe(false);
  gate.resolve();
  expect(await waiting).toMatchObject({ result: "Node Server Is Running!" });
  expect((await Promise.all(running)).every(({ result }) => result === null)).toBe(true);
  expect(await socket.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
});

test("a message above the limit closes its socket with 1009, and no other", async () => {
  await using node = await sharedNode({ top: "max_request_body_size = 65536" });
  await using bystander = await node.socket();
  for (const message of [`${hello.padEnd(65_537)}`, new Uint8Array(65_537), "x".repeat(1_000_000)]) {
    await using socket = await node.socket();
    socket.send(hello.padEnd(65_536));
    expect(await socket.next()).toEqual(helloAnswer);
    socket.send(message);
    expect((await socket.closed).code).toBe(1009);
  }
  expect(await bystander.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
});

test("fragments are counted together against the limit", async () => {
  await using node = await sharedNode({ top: "max_request_body_size = 65536" });
  using wire = await openWireSocket(node.url);
  wire.write(frame("x".repeat(40_000), 0x01));
  wire.write(frame("x".repeat(40_000), 0x00));
  await until("the socket closes", () => wire.closed || undefined);
});

test("frames that break the protocol close their socket and nothing else", async () => {
  await using node = await sharedNode();
  await using bystander = await node.socket();
  const unmasked = Uint8Array.of(0x81, 0x05, ...Buffer.from("hello"));
  const broken = {
    "an unmasked frame": unmasked,
    "a reserved opcode": frame("x", 0x83),
    "reserved bits": frame("x", 0xf1),
    "a continuation of nothing": frame("x", 0x80),
    "a fragmented ping": frame("x", 0x09),
    "a ping of 126 bytes": frame("x".repeat(126), 0x89),
    "text that is not UTF-8": frame(Uint8Array.of(0xff, 0xfe), 0x81),
    "a length of 2^63": Uint8Array.of(0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4),
    "a close frame of one byte": frame("x", 0x88),
    "a close frame with a forbidden code": frame(Uint8Array.of(0x03, 0xed), 0x88),
  };
  for (const [name, bytes] of Object.entries(broken)) {
    using wire = await openWireSocket(node.url);
    wire.write(bytes);
    await until(`${name} closes the socket`, () => wire.closed || undefined);
    expect(await bystander.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
  }
});

test("nesting as deep as a message can hold harms neither the socket nor the server", async () => {
  // A process of its own: what this story is about would end the whole process.
  await using home = await newHome();
  const server = await home.serve();
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  for (const id of ["1", "1.5", "12345678901234567890"]) {
    for (const depth of [1000, 10_000, 40_000, 1_000_000]) {
      await using socket = await server.socket();
      socket.send(`{"jsonrpc":"2.0","method":"node-server_hello","params":${nested(depth)},"id":${id}}`);
      expect(await Promise.race([socket.next(), socket.closed])).toHaveProperty("jsonrpc", "2.0");
    }
  }
  expect(server.alive).toBe(true);
});

test("nesting as deep as a request can hold is answered over HTTP too", async () => {
  await using node = await sharedNode();
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  for (const id of ["1", "1.5"]) {
    const body = `{"jsonrpc":"2.0","method":"node-server_hello","params":${nested},"id":${id}}`;
    const response = await node.post(body);
    expect([id, response.status]).toEqual([id, 200]);
    expect(await response.json()).toHaveProperty("jsonrpc", "2.0");
  }
});
