import { expect } from "bun:test";
import { z } from "zod";
import { anyone, anyToken } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { openWireSocket, postHead, Wire } from "../support/hostile.ts";
import { type TestNode, testNode, type WireReply } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

const sharedNode = sharedNodes();

const { method } = declareOver<Services>();
const json = "Content-Type: application/json";
const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';

/** A call that runs until it is let go. */
function heldCall() {
  const gate = Promise.withResolvers<void>();
  let running = 0;
  const hold = method({
    effect: "reads",
    doc: "Waits to be let go.",
    need: anyone,
    params: {},
    result: z.null(),
    run: async () => {
      running += 1;
      await gate.promise;
      running -= 1;
      return null;
    },
  });
  const body = '{"jsonrpc":"2.0","method":"test_hold","id":1}';
  return {
    table: { test_hold: hold },
    body,
    letGo: gate.resolve,
    begins: (count = 1) => until("the call runs", () => running === count || undefined),
    ends: () => until("the call has ended", () => running === 0 || undefined),
  };
}

const repeatDeclaration = {
  doc: "Answers a text so many times.",
  effect: "reads" as const,
  params: { text: z.string(), times: z.int() },
  result: z.string(),
  run: (_: unknown, { text, times }: { text: string; times: number }) => text.repeat(times),
};
const repeat = method({ ...repeatDeclaration, need: anyone });
/** The same for callers with a token, which may be sent more than strangers. */
const repeatToKnown = method({ ...repeatDeclaration, need: anyToken });
const repeatCall = (text: string, times: number, id = 1) =>
  JSON.stringify({ jsonrpc: "2.0", method: "test_repeat", params: [text, times], id });

const free = (node: TestNode) =>
  until("a place is free", async () => (await node.post(hello)).status === 200 || undefined);

test("a request above the limit is refused by its declared length, before its body is sent", async () => {
  await using node = await sharedNode({ top: "max_request_body_size = 65536" });
  using wire = await Wire.open(node.url);
  wire.write(postHead(json, "Content-Length: 65537"));
  await wire.hears(/^HTTP\/1.1 413 [\s\S]*"code":-32007.*"limit":65536.*"id":null/);
});

test("a request above the limit is refused while it streams, without a declared length", async () => {
  await using node = await sharedNode({ top: "max_request_body_size = 65536" });
  using wire = await Wire.open(node.url);
  wire.write(postHead(json, "Transfer-Encoding: chunked"));
  for (let sent = 0; sent < 4; sent += 1) wire.write(`4000\r\n${" ".repeat(16_384)}\r\n`);
  await Bun.sleep(50);
  expect(wire.heard).toBe("");
  wire.write("1\r\n \r\n");
  await wire.hears(/^HTTP\/1.1 413 [\s\S]*"code":-32007.*"limit":65536/);
});

test("a request of exactly the limit is taken, with and without a declared length", async () => {
  await using node = await sharedNode({ top: "max_request_body_size = 65536" });
  const full = hello.padEnd(65_536);
  expect((await node.post(full)).status).toBe(200);
  expect((await node.post(`${full} `)).status).toBe(413);
  using wire = await Wire.open(node.url);
  wire.write(`${postHead(json, "Transfer-Encoding: chunked")}10000\r\n${full}\r\n0\r\n\r\n`);
  await wire.hears(/^HTTP\/1.1 200 [\s\S]*Running/);
});

test("a request whose length is told twice, differently or not in digits never reaches a method", async () => {
  await using node = await sharedNode();
  const lengths = [
    ["Content-Length: 53", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 53"],
    ["Transfer-Encoding: xchunked"],
    ["Content-Length: 53, 53"],
    ["Content-Length: -53"],
    ["Content-Length: 0x35"],
    ["Content-Length: 99999999999999999999"],
  ];
  for (const headers of lengths) {
    using wire = await Wire.open(node.url);
    wire.write(`${postHead(json, ...headers)}${hello}`);
    await wire.hears(/^HTTP\/1.1 400 /);
    expect(wire.heard).not.toContain("Running");
  }
});

test("above jsonrpc_max_connections the answer is 429, until a place is free again", async () => {
  const held = heldCall();
  await using node = await testNode({ top: "jsonrpc_max_connections = 3", methods: held.table });
  await using socket = await node.socket();
  const calls = [node.post(held.body), node.post(held.body)];
  await held.begins(2);
  const refused = await node.post(hello);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(((await refused.json()) as WireReply).error?.code).toBe(-32009);
  using handshake = await Wire.open(node.url);
  handshake.write("GET /jsonrpc HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
  handshake.write("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  await handshake.hears(/^HTTP\/1.1 429 /);
  // Those that have a place are served.
  expect(await socket.call("node-server_hello")).toMatchObject({ result: "Node Server Is Running!" });
  held.letGo();
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
  await free(node);
});

test("an open socket keeps its place until it closes, politely or not", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 1" });
  const polite = await node.socket();
  expect((await node.post(hello)).status).toBe(429);
  await polite[Symbol.asyncDispose]();
  await free(node);
  const rude = await openWireSocket(node.url);
  expect((await node.post(hello)).status).toBe(429);
  rude[Symbol.dispose]();
  await free(node);
});

test("a client that hangs up in the middle of a call or of a body leaves no place taken", async () => {
  const held = heldCall();
  await using node = await testNode({ top: "jsonrpc_max_connections = 1", methods: held.table });
  const quitting = new AbortController();
  const call = fetch(`${node.url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: held.body,
    signal: quitting.signal,
  });
  await held.begins();
  quitting.abort();
  await expect(call).rejects.toThrow();
  // Nobody hears the answer any more, but the work goes on and still has its place.
  expect((await node.post(hello)).status).toBe(429);
  held.letGo();
  await held.ends();
  await free(node);
  for (const head of [postHead(json, "Content-Length: 100"), postHead(json, "Transfer-Encoding: chunked")]) {
    const wire = await Wire.open(node.url);
    wire.write(`${head}5\r\n{"js`);
    await until("the place is taken", async () => (await node.post(hello)).status === 429 || undefined);
    wire[Symbol.dispose]();
    await free(node);
  }
});

test("every kind of answer gives its place back", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 1\nmax_request_body_size = 65536" });
  const upgrade = { upgrade: "websocket", connection: "upgrade" };
  const asked: Record<string, () => Promise<Response>> = {
    "a call": () => node.post(hello),
    "an error": () => node.post("{"),
    "a notification": () => node.post('{"jsonrpc":"2.0","method":"node-server_hello"}'),
    "a wrong type": () => node.post(hello, { "content-type": "text/plain" }),
    "too big": () => node.post("x".repeat(65_537)),
    "a preflight": () => fetch(`${node.url}/jsonrpc`, { method: "OPTIONS" }),
    "a wrong verb": () => fetch(`${node.url}/jsonrpc`, { method: "PUT", body: hello }),
    "half a handshake": () => fetch(`${node.url}/jsonrpc`, { headers: upgrade }),
  };
  for (const [name, ask] of Object.entries(asked)) {
    for (let turn = 0; turn < 3; turn += 1) {
      const { status } = await ask();
      expect([name, status]).not.toEqual([name, 429]);
      expect([name, (await node.post(hello)).status]).toEqual([name, 200]);
    }
  }
});

test("a client that does not read its answer keeps its place until it does", async () => {
  // What one such client costs is an answer in memory; how many of them there are is what the limit is for.
  await using node = await testNode({
    top: "jsonrpc_max_connections = 1",
    logging: 'memory_log_filter = "rpc=debug"',
    methods: { test_repeat: repeatToKnown },
  });
  const params = [node.superToken, "0123456789", 3_000_000];
  const call = JSON.stringify({ jsonrpc: "2.0", method: "test_repeat", params, id: 1 });
  using wire = await Wire.open(node.url);
  wire.write(postHead(json, `Content-Length: ${call.length}`));
  await until("the place is taken", async () => (await node.post(hello)).status === 429 || undefined);
  wire.stopReading();
  wire.write(call);
  await until("the call has been answered", () =>
    node.node.ring
      .entries()
      .some(({ message, spans }) => message === "success" && spans[0]?.name === "test::repeat"),
  );
  for (let turn = 0; turn < 20; turn += 1) expect((await node.post(hello)).status).toBe(429);
  wire.readAgain();
  await wire.hears(/0123456789","id":1\}/);
  await free(node);
});

test("an answer above max_response_body_size is an error, and leaves the rest of its batch alone", async () => {
  await using node = await testNode({
    top: "max_response_body_size = 1000",
    methods: { test_repeat: repeat },
  });
  const single = (await (await node.post(repeatCall("x", 1000))).json()) as WireReply;
  expect(single).toMatchObject({ error: { code: -32008, data: { limit: 1000 } }, id: 1 });
  const batch = [repeatCall("a", 100, 1), repeatCall("b", 2000, 2), repeatCall("c", 100, 3)];
  const replies = (await (await node.post(`[${batch.join(",")}]`)).json()) as WireReply[];
  expect(replies.map(({ id, result, error }) => [id, result ?? error?.code])).toEqual([
    [1, "a".repeat(100)],
    [2, -32008],
    [3, "c".repeat(100)],
  ]);
});

test("max_response_body_size holds for a batch as a whole, and counts bytes", async () => {
  await using node = await testNode({
    top: "max_response_body_size = 10000",
    methods: { test_repeat: repeat },
  });
  for (const text of ["x", "ü", "€", "😀"]) {
    const batch = Array.from({ length: 40 }, (_, id) => repeatCall(text, 400, id));
    const answer = await (await node.post(`[${batch.join(",")}]`)).text();
    const replies = JSON.parse(answer) as WireReply[];
    expect(replies.map(({ id }) => id)).toEqual(batch.map((_, id) => id));
    const given = replies.filter((reply) => "result" in reply);
    expect([text, given.length > 0]).toEqual([text, true]);
    expect([text, Buffer.byteLength(JSON.stringify(given)) <= 10_000]).toEqual([text, true]);
  }
});

test("without a token an answer may have 256 KiB, a batch as a whole too; with a token it may be larger", async () => {
  await using node = await testNode({ methods: { test_repeat: repeat } });
  const strangers = [100_000, 100_000, 100_000].map((times, id) => repeatCall("x", times, id));
  const refused = { code: -32008, data: { limit: 256 * 1024 } };
  expect(await (await node.post(`[${strangers.join(",")}]`)).json()).toMatchObject([
    { id: 0, result: expect.stringMatching(/^x{100000}$/) },
    { id: 1, result: expect.stringMatching(/^x{100000}$/) },
    { id: 2, error: refused },
  ]);
  expect(await (await node.post(repeatCall("x", 300_000))).json()).toMatchObject({ error: refused });
  const proof = { jsonrpc: "2.0", method: "node-server_uptime", params: [node.superToken], id: 9 };
  const known = [JSON.stringify(proof), ...strangers].join(",");
  const replies = (await (await node.post(`[${known}]`)).json()) as WireReply[];
  expect(replies.map(({ id, error }) => [id, error])).toEqual([9, 0, 1, 2].map((id) => [id, undefined]));
});

test("a batch may hold 1,000 calls and no more", async () => {
  await using node = await sharedNode();
  const calls = (count: number) =>
    `[${Array.from({ length: count }, (_, id) => hello.replace('"id":1', `"id":${id}`)).join(",")}]`;
  const replies = (await (await node.post(calls(1000))).json()) as WireReply[];
  expect(replies.map(({ id, result }) => [id, result])).toEqual(
    Array.from({ length: 1000 }, (_, id) => [id, "Node Server Is Running!"]),
  );
  expect(await (await node.post(calls(1001))).json()).toMatchObject({
    error: { code: -32010, data: { limit: 1000, actual: 1001 } },
    id: null,
  });
});
