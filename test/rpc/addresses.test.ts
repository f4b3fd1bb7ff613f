import { expect, test } from "bun:test";
import { Wire } from "../support/hostile.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { openSocket } from "../support/socket.ts";

const addresses = ["/jsonrpc", "/node/rpc", "/"];
const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
const json = { "content-type": "application/json" };
const running = { jsonrpc: "2.0", result: "Node Server Is Running!", id: 1 };

/** The same story without an HTTP root, and with a bucket as the root whose files try to shadow the addresses. */
function withAndWithoutRoot(title: string, story: (node: TestNode) => Promise<void>, top = ""): void {
  for (const root of [false, true])
    test(`${title} (${root ? "a bucket is the HTTP root" : "no HTTP root"})`, async () => {
      await using node = await testNode({ top });
      await node.call("static-bucket_create", [node.superToken, "site", "site", root]);
      for (const path of ["index.html", "jsonrpc", "node/rpc", "a.txt"])
        await node.call("static-bucket-file_upload", [node.superToken, "site", path, "a file"]);
      await story(node);
    });
}

/** Status and body of one answer to bytes that go out exactly as written. */
async function answerTo(url: string, lines: readonly string[]): Promise<{ status: number; text: string }> {
  using wire = await Wire.open(url);
  wire.write(`${lines.join("\r\n")}\r\n\r\n`);
  const [, status, text = ""] = await wire.hears(/^HTTP\/1\.1 (\d+) [\s\S]*?\r\n\r\n([\s\S]*)$/);
  return { status: Number(status), text };
}

const handshakeTo = (path: string, more: readonly string[] = []) => [
  `GET ${path} HTTP/1.1`,
  "Host: here",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ...more,
];

withAndWithoutRoot("JSON-RPC answers POST at /jsonrpc, /node/rpc and /", async (node) => {
  for (const address of addresses) {
    for (const type of ["application/json", "application/json; charset=utf-8", "application/json-rpc"]) {
      const response = await fetch(node.url + address, {
        method: "POST",
        headers: { "content-type": type, origin: "https://dashboard.example" },
        body: hello,
      });
      expect([address, response.status, await response.json()]).toEqual([address, 200, running]);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
    }
    const batch = await fetch(node.url + address, {
      method: "POST",
      headers: json,
      body: `[${hello},${hello}]`,
    });
    expect(await batch.json()).toEqual([running, running]);
    const other = await fetch(node.url + address, {
      method: "POST",
      body: "a=1",
      headers: { "content-type": "text/plain" },
    });
    expect([address, other.status]).toEqual([address, 415]);
  }
});

withAndWithoutRoot("GET and HEAD of / stay what they were", async (node) => {
  const isRoot = (await (await fetch(`${node.url}/a.txt`)).text()) === "a file";
  const page = await fetch(node.url);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(await page.text()).toContain(isRoot ? "a file" : "Node Server Is Running!");
  expect((await fetch(node.url, { method: "HEAD" })).status).toBe(200);
  for (const [method, path, allow] of [
    ["PUT", "/", "GET, HEAD, POST, OPTIONS"],
    ["GET", "/jsonrpc", "POST, OPTIONS"],
    ["DELETE", "/node/rpc", "POST, OPTIONS"],
  ] as const) {
    const refused = await fetch(node.url + path, { method });
    expect([path, refused.status, refused.headers.get("allow")]).toEqual([path, 405, allow]);
  }
});

withAndWithoutRoot("a preflight of a dashboard passes at every address of JSON-RPC", async (node) => {
  for (const address of addresses) {
    const response = await fetch(node.url + address, {
      method: "OPTIONS",
      headers: {
        origin: "https://dashboard.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, x-requested-with, x-dashboard",
      },
    });
    expect([address, response.status]).toEqual([address, 204]);
    const listed = (name: string) => response.headers.get(name)?.toLowerCase().split(/, */) ?? [];
    expect(listed("access-control-allow-origin")).toEqual(["*"]);
    expect(listed("access-control-allow-methods")).toContain("post");
    expect(listed("access-control-allow-headers")).toContain("*");
    expect(listed("allow")).toContain("post");
    expect([address, response.headers.get("dav")]).toEqual([address, address === "/" ? "1, 2, 3" : null]);
  }
});

withAndWithoutRoot(
  "a WebSocket opens at every address of JSON-RPC, with calls and subscriptions",
  async (node) => {
    for (const address of addresses) {
      await using socket = await openSocket(node.url, address);
      expect((await socket.call("node-server_hello")).result).toBe("Node Server Is Running!");
      const { result } = await socket.call("node-server_stream_log", {
        token: node.superToken,
        log_filter: "info",
      });
      expect(await socket.call("node-server_unsubscribe_stream_log", { subscription: result })).toMatchObject(
        {
          result: true,
        },
      );
    }
  },
);

withAndWithoutRoot(
  "a WebSocket anywhere else is refused with a line that names where it opens",
  async (node) => {
    const elsewhere = [
      "/a.txt",
      "/index.html",
      "/nowhere",
      "/jsonrpc/",
      "/node",
      "/node/",
      "/node/static/site/a.txt",
      "/node/static/site",
      "/node/static/none/a.txt",
      "/node/static-webdav/site/",
      "/node/static-webdav/none/",
      "/node/console/",
      "/node/console/assets/x.js",
    ];
    // Files that are in memory are answered on a path of their own.
    await Promise.all(elsewhere.map(async (path) => (await fetch(node.url + path)).body?.cancel()));
    for (const path of elsewhere) {
      const { status, text } = await answerTo(node.url, handshakeTo(path));
      expect([path, status]).toEqual([path, 400]);
      expect([path, text]).toEqual([path, expect.stringContaining("/jsonrpc")]);
    }
    expect((await answerTo(node.url, handshakeTo("/terminal"))).status).toBe(501);
    const broken = [`GET / HTTP/1.1`, "Host: here", "Upgrade: websocket", "Connection: Upgrade"];
    expect(await answerTo(node.url, broken)).toMatchObject({ status: 400 });
  },
);

withAndWithoutRoot(
  "jsonrpc_max_connections and max_request_body_size hold for all addresses together",
  async (node) => {
    for (const address of addresses) {
      const large = await fetch(node.url + address, {
        method: "POST",
        headers: json,
        body: "x".repeat(65_537),
      });
      expect([address, large.status, await large.json()]).toMatchObject([
        address,
        413,
        { error: { code: -32007 } },
      ]);
    }
    await using first = await openSocket(node.url, "/");
    await using second = await openSocket(node.url, "/node/rpc");
    for (const address of addresses) {
      const busy = await fetch(node.url + address, { method: "POST", headers: json, body: hello });
      expect([address, busy.status, busy.headers.get("retry-after")]).toEqual([address, 429, "1"]);
      expect((await answerTo(node.url, handshakeTo(address))).status).toBe(429);
    }
    expect((await fetch(node.url)).status).toBe(200);
    expect((await first.call("node-server_hello")).result).toBe(running.result);
    expect((await second.call("node-server_hello")).result).toBe(running.result);
  },
  "max_request_body_size = 65536\njsonrpc_max_connections = 2\n",
);
