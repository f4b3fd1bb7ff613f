import { expect, test } from "bun:test";
import { connect } from "node:net";
import { postHead } from "../support/hostile.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const head = postHead("Content-Type: application/json", "Transfer-Encoding: chunked");
const call = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const end = "0\r\n\r\n";

/** A connection from an address of this machine, and what it has heard. */
function from(localAddress: string, { url }: TestNode) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  const made = {
    heard: "",
    write: (text: string) => socket.write(text),
    [Symbol.dispose]: () => socket.destroy(),
  };
  socket.on("data", (bytes) => {
    made.heard += bytes.toString();
  });
  socket.on("error", () => {});
  return made;
}

async function statusOf(localAddress: string, node: TestNode): Promise<string> {
  using connection = from(localAddress, node);
  connection.write(head + chunk(call) + end);
  return await until(
    `a request from ${localAddress} is answered`,
    () => /^HTTP\/1\.1 (\d+)/.exec(connection.heard)?.[1],
  );
}

test("a body without a length that never ends keeps out its own address only, until it ends", async () => {
  if (process.platform !== "linux") {
    console.log("SKIPPED: several loopback addresses need Linux");
    return;
  }
  await using node = await testNode();
  expect(await statusOf("127.0.0.2", node)).toBe("200");
  using endless = from("127.0.0.2", node);
  endless.write(head + chunk(call));
  await until("it takes the place of its address", async () => (await statusOf("127.0.0.2", node)) === "503");
  expect(await statusOf("127.0.0.3", node)).toBe("200");
  const sized = await fetch(`${node.url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: call,
  });
  expect(sized.status).toBe(200);
  endless.write(end);
  await until("it is answered", () => endless.heard.includes("Node Server Is Running!"));
  expect(await statusOf("127.0.0.2", node)).toBe("200");
});
