import { expect } from "bun:test";
import { truncate } from "node:fs/promises";
import { siteWith } from "../support/bucket.ts";
import { postHead, Wire } from "../support/hostile.ts";
import { eachStore, type TestNode, testNode, type WireReply } from "../support/node.ts";
import { contentFolder, openFilesBelow } from "../support/open-files.ts";
import { until } from "../support/until.ts";

/** Around the pieces in which a file is read. */
const sizes = [0, 1, 2, 3, 4, 196_607, 196_608, 196_609, 1_000_000];
const bytesOf = (size: number) => Buffer.from(Uint8Array.from({ length: size }, (_, at) => (at * 31) % 251));
const files = Object.fromEntries(sizes.map((size) => [`${size}.bin`, bytesOf(size)]));

const readCall = (node: TestNode, path: string, id: number | undefined = 1) => ({
  jsonrpc: "2.0",
  method: "static-bucket-file_read",
  params: { token: node.superToken, name: "site", path },
  id,
});

eachStore(
  "a file of any size is read whole: by POST, over a WebSocket, several in a batch",
  async (store) => {
    await using node = await testNode(store);
    await siteWith(node, files);
    await using socket = await node.socket();
    for (const size of sizes) {
      const expected = bytesOf(size).toString("base64");
      const { method, params } = readCall(node, `${size}.bin`);
      expect([size, (await node.call(method, params)) === expected]).toEqual([size, true]);
      expect([size, (await socket.call(method, params)).result === expected]).toEqual([size, true]);
    }
    const batch = [
      ...sizes.map((size) => readCall(node, `${size}.bin`, size)),
      readCall(node, "missing", -1),
    ];
    const replies = (await (await node.post(JSON.stringify(batch))).json()) as WireReply[];
    expect(replies.map(({ id, result, error }) => [id, error?.code ?? String(result).length])).toEqual([
      ...sizes.map((size) => [size, Math.ceil(size / 3) * 4]),
      [-1, 105],
    ]);
    await until("every file is closed", () => openFilesBelow(contentFolder(node)).length === 0);
  },
);

eachStore("a file is closed, too, when nobody hears its content", async (store) => {
  await using node = await testNode({ ...store, top: "max_response_body_size = 2000000" });
  await siteWith(node, { "large.bin": bytesOf(1_000_000) });
  const notification = JSON.stringify({ ...readCall(node, "large.bin"), id: undefined });
  expect((await node.post(notification)).status).toBe(204);
  // The second does not fit into the answer.
  const two = [readCall(node, "large.bin", 1), readCall(node, "large.bin", 2)];
  const replies = (await (await node.post(JSON.stringify(two))).json()) as WireReply[];
  expect(replies.map(({ id, error }) => [id, error?.code])).toEqual([
    [1, undefined],
    [2, -32008],
  ]);
  for (let turn = 0; turn < 10; turn += 1) {
    const wire = await Wire.open(node.url);
    const body = JSON.stringify(readCall(node, "large.bin"));
    wire.stopReading();
    wire.write(`${postHead("Content-Type: application/json", `Content-Length: ${body.length}`)}${body}`);
    await Bun.sleep(turn);
    wire[Symbol.dispose]();
  }
  await until("every file is closed", () => openFilesBelow(contentFolder(node)).length === 0);
});

eachStore(
  "a file that is cut short while it is read ends the connection, and is never taken for whole",
  async (store) => {
    await using node = await testNode(store);
    const size = 40_000_000;
    const { stored } = await siteWith(node, { "large.bin": Buffer.alloc(size, "x") });
    const file = await stored.contentFile("large.bin");
    using wire = await Wire.open(node.url);
    const body = JSON.stringify(readCall(node, "large.bin"));
    wire.write(`${postHead("Content-Type: application/json", `Content-Length: ${body.length}`)}${body}`);
    // Once the answer has begun its length is settled.
    await wire.hears(/200 OK/);
    wire.stopReading();
    await truncate(file, 1_000_000);
    wire.readAgain();
    await until("the connection ends", () => wire.closed);
    expect(wire.heard.length).toBeLessThan((size / 3) * 4);
    expect(wire.heard).not.toContain('"id":1}');
    await until("the file is closed", () => openFilesBelow(contentFolder(node)).length === 0);
  },
);
