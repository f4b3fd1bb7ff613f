import { expect, test } from "bun:test";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { method } from "../../src/methods/declare.ts";
import { siteWith } from "../support/bucket.ts";
import { Wire } from "../support/hostile.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { metricsOf } from "../support/metrics.ts";
import { eachDatabase, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

/** A bucket that was changed is counted again after this time. */
const recountMs = 10_000;

eachDatabase(
  "every request is counted where it was answered, with its status and its bytes",
  async (database) => {
    await using node = await testNode({ database });
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
    const get = async (path: string, init?: RequestInit) => (await fetch(node.url + path, init)).text();
    // From the disk, then from memory; once without a body, and once not modified.
    for (let round = 0; round < 3; round += 1) await get("/node/static/site/a.txt");
    await get("/node/static/site/a.txt", { method: "HEAD" });
    await get("/node/static/site/missing.txt");
    await get("/node/static/site/a.txt", { headers: { range: "bytes=1-2" } });
    await get("/node/static-upload/site/a.txt", { method: "OPTIONS" });
    await get("/node/console/");
    await get("/node/health");
    await get("/node/nothing");
    await get("/jsonrpc", { method: "PUT", body: "x" });
    await get("/node/static/site/a.txt", { method: "REPORT" });
    const of = await metricsOf(node);
    const requests = (labels: string) => of(`node_server_http_requests_total{${labels}}`);
    expect(requests('handler="static",method="GET",code="200"')).toBe(3);
    expect(requests('handler="static",method="HEAD",code="200"')).toBe(1);
    expect(requests('handler="static",method="GET",code="404"')).toBe(1);
    expect(requests('handler="static",method="GET",code="206"')).toBe(1);
    expect(requests('handler="static",method="OTHER",code="405"')).toBe(1);
    expect(requests('handler="webdav",method="PUT",code="201"')).toBe(1);
    expect(requests('handler="upload",method="OPTIONS",code="204"')).toBe(1);
    expect(requests('handler="console",method="GET",code="200"')).toBe(1);
    expect(requests('handler="health",method="GET",code="200"')).toBe(1);
    expect(requests('handler="other",method="GET",code="404"')).toBe(1);
    expect(requests('handler="other",method="PUT",code="405"')).toBe(1);
    expect(of('node_server_http_received_bytes_total{handler="webdav"}')).toBe(5);
    const missing = "404 Not Found: there is no such file.\n".length;
    const notAllowed = "405 Method Not Allowed: this address takes GET, HEAD, OPTIONS.\n".length;
    expect(of('node_server_http_sent_bytes_total{handler="static"}')).toBe(3 * 5 + 2 + missing + notAllowed);
    expect(of('node_server_http_request_duration_seconds_count{handler="static"}')).toBe(7);
    expect(of('node_server_http_request_duration_seconds_bucket{handler="static",le="+Inf"}')).toBe(7);
    expect(of('node_server_rpc_calls_total{method="static-bucket_create",outcome="ok"}')).toBe(1);
    // A file that has just changed is not kept in memory yet.
    await until("the file is answered from memory, which is counted", async () => {
      await get("/node/static/site/a.txt");
      return ((await metricsOf(node))("node_server_static_cache_hits_total") ?? 0) > 0;
    });
  },
);

test("responses that are made while they are sent, and those that fail, are counted when they end", async () => {
  const methods = {
    test_fail: method({
      doc: "Fails.",
      need: anyone,
      effect: "reads",
      params: {},
      result: z.string(),
      example: { params: {}, result: "" },
      run: () => {
        throw new Error("a bug");
      },
    }),
  };
  await using node = await testNode({ methods, logging: 'memory_log_filter = "info"' });
  const text = "line of a large file\n".repeat(200_000);
  const { get } = await siteWith(node, { "large.txt": text });
  const sent = async () =>
    (await metricsOf(node))('node_server_http_sent_bytes_total{handler="static"}') ?? 0;
  const compressed = await get("/large.txt", { "accept-encoding": "gzip" });
  expect(compressed.headers.get("content-encoding")).toBe("gzip");
  await compressed.text();
  const first = await sent();
  expect(first).toBeGreaterThan(1000);
  expect(first).toBeLessThan(text.length / 2);
  const ranges = await get("/large.txt", { range: "bytes=0-9,100-109" });
  const body = await ranges.bytes();
  expect([ranges.status, await sent()]).toEqual([206, first + body.length]);
  // A large answer of JSON-RPC is sent in pieces.
  const answer = await node.post(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "static-bucket-file_read",
      params: [node.superToken, "site", "large.txt"],
    }),
    { "accept-encoding": "identity" },
  );
  const bytes = (await answer.bytes()).length;
  const of = await metricsOf(node);
  expect(of('node_server_http_sent_bytes_total{handler="jsonrpc"}')).toBeGreaterThanOrEqual(bytes);
  expect(bytes).toBeGreaterThan(text.length);
  // A client that leaves in the middle.
  using wire = await Wire.open(node.url);
  wire.write("GET /node/static/site/large.txt HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n");
  await wire.hears(/^HTTP\/1\.1 200/);
  wire[Symbol.dispose]();
  await until("it is counted", async () => {
    const now = await metricsOf(node);
    return now('node_server_http_requests_total{handler="static",method="GET",code="200"}') === 2;
  });
  truncateSync(join(node.folder, "static/site/large.txt"), 100_000_000);
  using second = await Wire.open(node.url);
  second.write(
    "GET /node/static/site/large.txt HTTP/1.1\r\nHost: here\r\nRange: bytes=0-40000000,50000000-90000000\r\n\r\n",
  );
  await second.hears(/^HTTP\/1\.1 206/);
  second[Symbol.dispose]();
  await until("it is counted too", async () => {
    const now = await metricsOf(node);
    return now('node_server_http_requests_total{handler="static",method="GET",code="206"}') === 2;
  });
  expect(await sent()).toBeLessThan(first * 2 + 50_000_000);
  await node.refused("test_fail");
  await node.refused("token_get", { token: "wrongwrongwrong1:wrong" });
  const after = await metricsOf(node);
  expect(after('node_server_rpc_calls_total{method="test_fail",outcome="Internal"}')).toBe(1);
  expect(after('node_server_rpc_calls_total{method="token_get",outcome="PermissionDenied"}')).toBe(1);
  expect(after("node_server_authentication_failures_total")).toBe(1);
  expect(after('node_server_log_entries_total{level="ERROR"}')).toBe(1);
});

test("WebSockets, subscriptions and uploads are counted while they are open", async () => {
  await using node = await testNode();
  const { authorization } = await webdavSite(node);
  {
    await using socket = await node.socket();
    await socket.call("node-server_stream_log", { token: node.superToken, log_filter: "info" });
    using wire = await Wire.open(node.url);
    wire.write(
      `PUT /node/static-webdav/site/a.bin HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\nContent-Length: 100000\r\n\r\n${"x".repeat(20_000)}`,
    );
    await until("the upload is under way", async () => {
      const of = await metricsOf(node);
      return of("node_server_uploads_in_progress") === 1;
    });
    const of = await metricsOf(node);
    expect(of("node_server_websockets_open")).toBe(1);
    expect(of("node_server_subscriptions")).toBe(1);
    expect(of("node_server_websocket_received_messages_total")).toBe(1);
    expect(of("node_server_websocket_sent_bytes_total")).toBeGreaterThan(20);
    expect(of('node_server_http_requests_total{handler="jsonrpc",method="GET",code="101"}')).toBe(1);
    expect(of("node_server_http_requests_in_flight")).toBeGreaterThanOrEqual(2);
  }
  await until("nothing is open any more", async () => {
    const of = await metricsOf(node);
    return [
      "node_server_websockets_open",
      "node_server_subscriptions",
      "node_server_uploads_in_progress",
    ].every((name) => of(name) === 0);
  });
});

eachDatabase(
  "statements of the server and of operators, and their errors, are counted apart",
  async (database) => {
    await using node = await testNode({ database });
    const { superToken: token } = node;
    await node.call("node-server_exec_sql", { token, sql: "SELECT 1 AS one" });
    await node.refused("node-server_exec_sql", { token, sql: "SELECT nothing FROM nowhere" });
    const of = await metricsOf(node);
    const count = (source: string) =>
      of(`node_server_database_statement_duration_seconds_count{source="${source}"}`);
    expect(count("operator")).toBe(2);
    expect(count("server")).toBeGreaterThan(0);
    expect(of('node_server_database_errors_total{source="operator",reason="other"}')).toBe(1);
    expect(of('node_server_component_up{component="database"}')).toBe(1);
    expect(of("node_server_database_writable")).toBe(1);
    expect(of('node_server_disk_free_bytes{disk="database"}') === undefined).toBe(database === "postgres");
  },
);

eachDatabase(
  "files and bytes of each bucket are counted in the background, after changes of any kind",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    const { dav } = await webdavSite(node);
    await node.call("static-bucket_create", [node.superToken, "other"]);
    const folder = join(node.folder, "static/other/deep/folder");
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < 300; file += 1) writeFileSync(join(folder, `${file}.txt`), "ten bytes\n");
    await dav("PUT", "/a.txt", {}, "hello");
    const counts = async () => {
      const of = await metricsOf(node);
      return ["site", "other"].map((bucket) => [
        of(`node_server_bucket_files{bucket="${bucket}"}`),
        of(`node_server_bucket_bytes{bucket="${bucket}"}`),
      ]);
    };
    const become = (...expected: unknown[]) =>
      clock.until(`the counts are ${JSON.stringify(expected)}`, recountMs, async () =>
        Bun.deepEquals(await counts(), expected),
      );
    await become([1, 5], [300, 3000]);
    await dav("PUT", "/b.txt", {}, "hello again");
    rmSync(folder, { recursive: true });
    // What another program did is seen together with a change by the server.
    await node.call("static-bucket-file_upload", [node.superToken, "other", "c.txt", "c"]);
    await become([2, 16], [1, 1]);
    await node.call("static-bucket_delete", [node.superToken, "other"]);
    await become([2, 16], [undefined, undefined]);
  },
);
