import { expect } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';

/** The status of one request whose target goes out exactly as written; clients tidy theirs up. */
async function statusOf(url: string, line: string, ...headers: string[]): Promise<number> {
  using wire = await Wire.open(url);
  const body = line.startsWith("POST") ? hello : "";
  const all = [line, ...headers, "Content-Type: application/json", `Content-Length: ${body.length}`];
  wire.write(`${all.join("\r\n")}\r\n\r\n${body}`);
  const [, status] = await wire.hears(/^HTTP\/1\.1 (\d+) [\s\S]*?\r\n\r\n/);
  return Number(status);
}

test("the front page says that the server runs, to GET and to HEAD", async () => {
  await using node = await sharedNode();
  const page = await fetch(node.url);
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  const html = await page.text();
  expect(html).toContain("Node Server Is Running!");
  const head = await fetch(node.url, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(head.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(html)));
  expect(await head.text()).toBe("");
});

test("the front page takes no other method, and says which it takes", async () => {
  await using node = await sharedNode();
  for (const method of ["PUT", "DELETE", "PATCH", "PROPFIND"]) {
    const response = await fetch(node.url, { method });
    expect([method, response.status]).toEqual([method, 405]);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
  }
  const options = await fetch(node.url, { method: "OPTIONS" });
  // Windows asks here whether the server does WebDAV, before it looks at a bucket.
  expect([options.status, options.headers.get("dav")]).toEqual([204, "1, 2, 3"]);
  for (const method of ["GET", "HEAD", "OPTIONS"])
    expect(options.headers.get("allow")?.split(", ")).toContain(method);
});

test("an address where nothing is served is a plain 404", async () => {
  await using node = await sharedNode();
  for (const path of ["/x", "/index.html", "/node/x", "/node/", "/node", "/jsonrpc/x", "/terminal/x"]) {
    for (const method of ["GET", "POST"]) {
      const response = await fetch(`${node.url}${path}`, { method });
      expect([path, response.status]).toEqual([path, 404]);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    }
  }
});

test("the terminal's address is reserved: it asks for an upgrade and refuses it", async () => {
  await using node = await sharedNode();
  const plain = await fetch(`${node.url}/terminal`);
  expect(plain.status).toBe(426);
  expect(plain.headers.get("upgrade")).toBe("websocket");
  const line = "GET /terminal HTTP/1.1";
  const upgrade = [
    "Host: here",
    "Upgrade: WebSocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  expect(await statusOf(node.url, line, ...upgrade)).toBe(501);
});

test("an address is what it resolves to, and a look-alike is nothing", async () => {
  await using node = await sharedNode();
  const targets = {
    "/jsonrpc": 200,
    "/jsonrpc?x=/terminal": 200,
    "/jsonrpc?http://other/terminal": 200,
    "/x/../jsonrpc": 200,
    "/./jsonrpc": 200,
    "/terminal/%2e%2e/jsonrpc": 200,
    "/../../jsonrpc": 200,
    "http://other.example/jsonrpc": 200,
    "/jsonrpc/": 404,
    "//jsonrpc": 404,
    "/JSONRPC": 404,
    "/%6asonrpc": 404,
    "/jsonrpc%00": 404,
    "/jsonrpc%2f": 404,
    "/jsonrpc%3fx": 404,
    "/jsonrpc;x": 404,
    "/x/..%2fjsonrpc": 404,
    "/x?/../jsonrpc": 404,
    "/jsonrpc/../terminal": 426,
    "/jsonrpc/..": 200,
    "/node/rpc": 200,
    "/node/rpc/": 404,
    "/node/RPC": 404,
    "/node/x/../rpc": 200,
  };
  for (const [target, status] of Object.entries(targets)) {
    expect([target, await statusOf(node.url, `POST ${target} HTTP/1.1`, "Host: here")]).toEqual([
      target,
      status,
    ]);
  }
});

test("the Host header has no say in what an address means", async () => {
  await using node = await sharedNode();
  const hosts = ["here", "here:1", "[::1]", "other.example/x", "a?b", "", "//", "http://x/terminal?"];
  for (const host of hosts) {
    const status = await statusOf(node.url, "POST /jsonrpc HTTP/1.1", `Host: ${host}`);
    // A server may refuse a name that is none; it may not answer from another address.
    expect([host, status === 200 || status === 400]).toEqual([host, true]);
  }
});

test("a Host header that names no host is refused, also where the answer would be a redirect", async () => {
  await using node = await sharedNode();
  await siteWith(node, { "folder/index.html": "x" });
  const odd = ["a:b", "localhost:99999", "[", "[::1", "::1", "a..b:", "%", "%zz", "1.2.3.4.5", "a b", "a/b"];
  for (const host of odd)
    for (const path of [
      `/node/static/${node.bucket}`,
      `/node/static/${node.bucket}/folder`,
      "/node/console/",
    ]) {
      const status = await statusOf(node.url, `GET ${path} HTTP/1.1`, `Host: ${host}`);
      expect([host, path, [400, 301, 200].includes(status)]).toEqual([host, path, true]);
    }
  for (const host of ["a:b", "localhost:99999", "["])
    expect(await statusOf(node.url, `GET /node/static/${node.bucket} HTTP/1.1`, `Host: ${host}`)).toBe(400);
  for (const host of ["localhost", "[::1]:80", "files.example.com:8443", ""])
    expect([
      host,
      await statusOf(node.url, `GET /node/static/${node.bucket} HTTP/1.1`, `Host: ${host}`),
    ]).toEqual([host, 301]);
});

test("a client of HTTP/1.0, which knows no Host header, is served", async () => {
  await using node = await sharedNode();
  expect(await statusOf(node.url, "POST /jsonrpc HTTP/1.0")).toBe(200);
  expect(await statusOf(node.url, "GET / HTTP/1.0")).toBe(200);
  await node.call("static-bucket_create", [node.superToken, node.bucket]);
  expect(await statusOf(node.url, `GET /node/static/${node.bucket} HTTP/1.0`)).toBe(301);
  expect(await statusOf(node.url, "GET /node/console HTTP/1.0")).toBe(301);
  expect(await statusOf(node.url, "GET /node/console/ HTTP/1.0")).toBe(200);
});
