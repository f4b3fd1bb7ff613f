import { expect, test } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const get = (name: string) => `GET /node/static/site/${name} HTTP/1.1\r\nHost: here\r\n\r\n`;
const call = (id: number) => {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "node-server_hello", id });
  return `POST /jsonrpc HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
/** A call whose body comes in chunks, with a trailer behind it. */
const withTrailer = (id: number) => {
  const [head = "", body = ""] = call(id).split("\r\n\r\n");
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`;
  return `${head.replace(/Content-Length: \d+/, "Transfer-Encoding: chunked")}\r\n\r\n${chunks}`;
};

/** All that a connection answers to these bytes, until it is closed or has answered `wanted`. */
async function answersTo(node: TestNode, bytes: string, wanted: RegExp): Promise<string> {
  using wire = await Wire.open(node.url);
  wire.write(bytes);
  await until("it is answered or closed", () => wire.closed || wanted.test(wire.heard));
  return wire.heard;
}

test("of two requests that are sent without waiting, both are answered in order or the connection is closed, and never is one answered for the other", async () => {
  await using node = await testNode();
  await siteWith(node, { "first.txt": "the-first", "second.txt": "the-second" });
  const pairs: ReadonlyArray<readonly [sent: string, first: string, second: string]> = [
    [get("first.txt") + get("second.txt"), "the-first", "the-second"],
    [call(11) + call(22), '"id":11', '"id":22'],
    [get("first.txt") + call(22), "the-first", '"id":22'],
    [call(11) + get("second.txt"), '"id":11', "the-second"],
  ];
  for (const [sent, first, second] of pairs)
    for (let round = 0; round < 20; round += 1) {
      const heard = await answersTo(node, sent, new RegExp(second));
      const [at, after] = [heard.indexOf(first), heard.indexOf(second)];
      // What follows is answered only after what came before it.
      expect([sent, after === -1 || (at !== -1 && at < after)]).toEqual([sent, true]);
      expect(heard.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThanOrEqual(2);
      for (const words of [first, second]) expect(heard.split(words).length).toBeLessThanOrEqual(2);
    }
  expect(await answersTo(node, get("second.txt"), /the-second/)).toContain("the-second");
});

test("a body with trailers is answered once, and what follows it on the connection is refused, not run", async () => {
  await using node = await testNode();
  for (const more of ["", call(22), get("x")]) {
    using wire = await Wire.open(node.url);
    wire.write(withTrailer(11) + more);
    await until("the connection is closed", () => wire.closed);
    expect(wire.heard).toMatch(/^HTTP\/1\.1 (?:200 OK[\s\S]*"id":11[\s\S]*HTTP\/1\.1 )?400 /);
    expect([wire.heard.includes('"id":22'), wire.heard.match(/HTTP\/1\.1 \d/g)?.length]).toEqual([
      false,
      wire.heard.includes('"id":11') ? 2 : 1,
    ]);
  }
});
