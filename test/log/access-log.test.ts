import { expect, test } from "bun:test";
import { existsSync, renameSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { webdavSite } from "../support/webdav.ts";

/** Lines are written to the file after this time. */
const flushMs = 1000;

interface Scene extends AsyncDisposable {
  readonly node: TestNode;
  readonly clock: ManualClock;
  readonly path: string;
  /** The lines once there are so many. */
  lines(count: number): Promise<string[]>;
}

async function openScene(format: "combined" | "vhost_combined" | "json", top = ""): Promise<Scene> {
  const folder = await tempFolder();
  const path = join(folder.path, "access.log");
  const logging = `access_log = ${JSON.stringify(path)}\naccess_log_format = "${format}"\nmemory_log_filter = "info"\n`;
  const clock = new ManualClock();
  const node = await testNode({ logging, top, clock });
  const read = async () => (await Bun.file(path).text()).split("\n").slice(0, -1);
  return {
    node,
    clock,
    path,
    async lines(count) {
      const areThere = async () => (await read()).length >= count;
      await clock.until(`the access log has ${count} lines`, flushMs, areThere);
      return read();
    },
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const jsonOf = (lines: string[]) => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
const combined =
  /^127\.0\.0\.1 - (\S+) \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "([^"]*)" (\d{3}) (\d+) "([^"]*)" "([^"]*)" \d+\.\d{3} (\S+)$/;

test("without access_log there is none", async () => {
  await using node = await testNode();
  await fetch(node.url);
  expect(existsSync(join(node.folder, "access.log"))).toBe(false);
});

test("each request is a line in the combined format, with duration and id behind it", async () => {
  await using scene = await openScene("combined");
  const { node } = scene;
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  await node.call("static-bucket-file_upload", {
    token: `root|${node.rootPassword}`,
    name: "site",
    path: "a.txt",
    body: "hello",
  });
  const headers = { "user-agent": "agent/1", referer: "https://other.example/page?secret=1#x" };
  await (await fetch(`${node.url}/node/static/site/a.txt?sig=hidden`, { headers })).text();
  await (await fetch(`${node.url}/node/static/site/none`, { method: "HEAD", headers })).text();
  const fields = (await scene.lines(4)).map((line) => combined.exec(line)?.slice(1, 7));
  const [key = ""] = node.superToken.split(":");
  expect(fields.slice(0, 2).map((found) => found?.slice(0, 3))).toEqual([
    [key, "POST /jsonrpc HTTP/1.1", "200"],
    ["root", "POST /jsonrpc HTTP/1.1", "200"],
  ]);
  expect(fields.slice(2)).toEqual([
    ["-", "GET /node/static/site/a.txt? HTTP/1.1", "200", "5", "https://other.example/page", "agent/1"],
    ["-", "HEAD /node/static/site/none HTTP/1.1", "404", "0", "https://other.example/page", "agent/1"],
  ]);
  const ids = (await scene.lines(4)).map((line) => combined.exec(line)?.[7]);
  expect(new Set(ids).size).toBe(4);
});

test("a JSON line has the caller, the methods, the bytes and the duration", async () => {
  await using scene = await openScene("json");
  const { node } = scene;
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "hello");
  const call = (method: string) => ({ jsonrpc: "2.0", method, id: 1 });
  await node.post(
    JSON.stringify([call("node-server_hello"), call("node-server_uuid"), call("no\u009bsuch")]),
  );
  await using socket = await node.socket();
  await socket.call("node-server_hello");
  const [create, put, batch, upgrade] = jsonOf(await scene.lines(4));
  const token_key = node.superToken.split(":")[0];
  expect(create).toMatchObject({ handler: "jsonrpc", token_key, rpc_methods: ["static-bucket_create"] });
  expect(put).toMatchObject({
    handler: "webdav",
    token_key,
    method: "PUT",
    path: "/node/static-webdav/site/a.txt",
    protocol: "HTTP/1.1",
    status: 201,
    received_bytes: 5,
    sent_bytes: 0,
    address: "127.0.0.1",
  });
  expect(put?.duration_ms).toBeNumber();
  expect(batch).toMatchObject({
    rpc_methods: ["node-server_hello", "node-server_uuid", "no\u009bsuch"],
    status: 200,
  });
  expect(batch).not.toHaveProperty("token_key");
  expect(upgrade).toMatchObject({ method: "GET", status: 101, path: "/jsonrpc" });
  expect(await Bun.file(scene.path).text()).not.toContain("\u009b");
});

test("lines name the host and the bucket, by the path and at the root of a host", async () => {
  for (const format of ["json", "vhost_combined"] as const) {
    await using scene = await openScene(format);
    const { node } = scene;
    const token = node.superToken;
    await node.call("static-bucket_create", { token, name: "docs", hosts: ["docs.example"] });
    await node.call("static-bucket_create", { token, name: "main", is_http_root: true });
    const requests = [
      ["docs.example", "/", "docs"],
      ["DOCS.example.:8443", "/missing?x", "docs"],
      ["127.0.0.1:80", "/", "main"],
      ["[::1]:2211", "/node/static/other/a.txt", "other"],
      ["localhost", "/node/static-webdav/docs%40abcdefghij/", "docs"],
      ["localhost", "/node/link/code/shop/a.txt", "shop"],
      ["localhost", "/node/static/%zz/a.txt", undefined],
      ["localhost", "/node/health", undefined],
    ] as const;
    for (const [host, path] of requests)
      await (await fetch(`${node.url}${path}`, { headers: { host } })).text();
    const lines = (await scene.lines(requests.length + 2)).slice(2);
    const ports = { "DOCS.example.:8443": 8443, "[::1]:2211": 2211 } as Record<string, number>;
    const names = requests.map(([host]) => host.toLowerCase().replace(/\.?:\d+$/, ""));
    if (format === "json")
      expect(jsonOf(lines).map(({ host, bucket }) => [host, bucket])).toEqual(
        requests.map(([, , bucket], at) => [names[at], bucket]),
      );
    else
      for (const [at, line] of lines.entries()) {
        const [first = "", ...rest] = line.split(" ");
        expect(first).toBe(`${names[at]}:${ports[requests[at]?.[0] ?? ""] ?? 80}`);
        expect(rest.join(" ")).toMatch(combined);
      }
  }
});

test("no line holds a secret, a password or a query", async () => {
  await using scene = await openScene("json");
  const { node } = scene;
  const [key = "", secret = ""] = node.superToken.split(":");
  await node.send("token_get", [node.superToken]);
  await node.send("token_get", [`root|${node.rootPassword}`]);
  await node.send("token_get", [`${key}:wrong-secret`]);
  const authorization = `Basic ${btoa(`${key}:${secret}`)}`;
  await fetch(`${node.url}/node/static-webdav/x/?token=${secret}`, { headers: { authorization } });
  await scene.lines(4);
  const text = await Bun.file(scene.path).text();
  for (const hidden of [secret, node.rootPassword, "wrong-secret", authorization.slice(6)])
    expect(text).not.toContain(hidden);
});

for (const format of ["combined", "json"] as const)
  test(`what a client sends cannot begin a line or end a field (${format})`, async () => {
    await using scene = await openScene(format);
    const { port, hostname } = new URL(scene.node.url);
    // Bun refuses other control characters in a header itself.
    const hostile = 'x" 200 1 "\\"\t\x9b\xe9';
    const answered = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        Buffer.from(
          `GET /a%0Ab"c\\d HTTP/1.1\r\nHost: ${hostname}\r\nUser-Agent: ${hostile}\r\nReferer: ${hostile}\r\nConnection: close\r\n\r\n`,
          "latin1",
        ),
      ),
    );
    socket.on("data", () => answered.resolve());
    await answered.promise;
    socket.destroy();
    const lines = await scene.lines(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[\x20-\x7e\u00a0-\u{10ffff}]*$/u);
    if (format === "json") expect(jsonOf(lines)[0]).toMatchObject({ user_agent: hostile, referer: hostile });
    else {
      expect(lines[0]).toMatch(combined);
      expect(combined.exec(lines[0] ?? "")?.[6]).toBe(
        "x\\x22 200 1 \\x22\\x5C\\x22\\x09\\xC2\\x9B\\xC3\\xA9",
      );
    }
  });

test("the address and the request id are those of a trusted proxy, and of nobody else", async () => {
  const headers = { "x-forwarded-for": "203.0.113.9", "x-request-id": "proxy-1" };
  await using scene = await openScene("json", 'trusted_proxies = ["127.0.0.1"]\n');
  await fetch(scene.node.url, { headers });
  await fetch(scene.node.url, { headers: { ...headers, "x-request-id": 'a"b' } });
  const [first, second] = jsonOf(await scene.lines(2));
  expect(first).toMatchObject({ address: "203.0.113.9", request_id: "proxy-1" });
  expect(second?.request_id).toMatch(/^\w{8}-\d+$/);
  await using other = await openScene("json");
  await fetch(other.node.url, { headers });
  const [line] = jsonOf(await other.lines(1));
  expect(line).toMatchObject({ address: "127.0.0.1" });
  expect(line?.request_id).not.toBe("proxy-1");
});

test("a moved file is left behind, and a stop writes the last lines", async () => {
  const scene = await openScene("combined");
  const { node, path } = scene;
  try {
    await fetch(`${node.url}/one`);
    await scene.lines(1);
    renameSync(path, `${path}.old`);
    await fetch(`${node.url}/two`);
    await node.node.close();
    expect(await Bun.file(`${path}.old`).text()).not.toContain("GET /two ");
    expect(await Bun.file(path).text()).toContain("GET /two ");
  } finally {
    await scene[Symbol.asyncDispose]();
  }
});

test("a reload turns the log on, changes its format and turns it off", async () => {
  await using scene = await openScene("combined");
  const { node, path } = scene;
  const text = await Bun.file(node.configPath).text();
  await fetch(`${node.url}/one`);
  await Bun.write(node.configPath, text.replace('"combined"', '"json"'));
  expect(await node.node.reload()).toBe("applied");
  await fetch(`${node.url}/two`);
  const [first, second] = await scene.lines(2);
  expect(first).toMatch(combined);
  expect(jsonOf([second ?? ""])[0]).toMatchObject({ path: "/two" });
  await Bun.write(node.configPath, text.replace(/access_log = .*\n/, ""));
  expect(await node.node.reload()).toBe("applied");
  await fetch(`${node.url}/three`);
  await Bun.write(node.configPath, text);
  expect(await node.node.reload()).toBe("applied");
  await fetch(`${node.url}/four`);
  await scene.lines(3);
  expect(await Bun.file(path).text()).not.toContain("/three");
});

test("a full disk fails and delays no request, and is reported once", async () => {
  const logging = 'access_log = "/dev/full"\nmemory_log_filter = "info"';
  const clock = new ManualClock();
  await using node = await testNode({ logging, clock });
  const failures = () =>
    node.node.ring.entries().filter(({ fields }) => fields.event === "access_log.failed");
  await clock.until("the failure is reported", flushMs, async () => {
    expect((await fetch(node.url)).status).toBe(200);
    return failures().length > 0;
  });
  expect(failures()[0]).toMatchObject({
    level: "ERROR",
    fields: { path: "/dev/full", reason: expect.stringContaining("ENOSPC") },
  });
});
