import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blockOf, replaced, sectionOf } from "../support/documented.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { hello, wholeLines } from "../support/process.ts";
import { documentedProxies, isRoot, openProxy, trusting } from "../support/proxy.ts";
import { findTool, randomBytes } from "../support/tools.ts";
import { until, within } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const logging = 'memory_log_filter = "info"';
const MB = 1024 * 1024;

/** What hello answers over a WebSocket. */
function helloBySocket(url: string): Promise<unknown> {
  return within(
    `the WebSocket at ${url} answers`,
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url, trusting);
      socket.onopen = () => socket.send('{"jsonrpc":"2.0","method":"node-server_hello","id":1}');
      socket.onmessage = ({ data }) => {
        resolve((JSON.parse(String(data)) as { result: unknown }).result);
        socket.close();
      };
      socket.onerror = () => reject(new Error(`the WebSocket at ${url} was refused`));
    }),
  );
}

/** Bytes of uploads that the server has received so far. */
function stagedBytes(node: TestNode): number {
  const staging = join(node.folder, "static", "~staging");
  if (!existsSync(staging)) return 0;
  return readdirSync(staging, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(staging, name), { throwIfNoEntry: false }))
    .reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}

/** Uploads in two halves; the second is sent once the server has some of the first. */
async function putInHalves(url: string, authorization: string, node: TestNode, body: Buffer) {
  const half = body.length / 2;
  const headers = { authorization, "content-length": body.length };
  const upload = httpsRequest(url, { method: "PUT", headers, rejectUnauthorized: false });
  const status = new Promise<number | undefined>((resolve, reject) => {
    upload.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  upload.write(body.subarray(0, half));
  await until("the upload reaches the server before its end", () => stagedBytes(node) > MB);
  upload.end(body.subarray(half));
  return within("the upload is answered", status);
}

async function useEveryTransport(url: string, node: TestNode, authorization: string): Promise<void> {
  for (const address of ["/jsonrpc", "/node/rpc", "/"]) {
    const call = await fetch(url + address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","method":"node-server_hello","id":1}',
      ...trusting,
    });
    expect(await call.json()).toMatchObject({ result: hello });
    expect(await helloBySocket(url.replace("https", "wss") + address)).toBe(hello);
  }
  const dav = `${url}/node/static-webdav/site`;
  const body = randomBytes(30 * MB);
  expect(await putInHalves(`${dav}/large.bin`, authorization, node, Buffer.from(body))).toBe(201);
  const send = (path: string, method: string, headers: Record<string, string> = {}) =>
    fetch(dav + path, { method, headers: { authorization, ...headers }, ...trusting });
  expect((await send("/large.bin", "MOVE", { destination: `${dav}/moved.bin` })).status).toBe(201);
  expect((await send("/moved.bin", "COPY", { destination: `${dav}/copied.bin` })).status).toBe(201);
  expect((await send("/", "PROPFIND", { depth: "1" })).status).toBe(207);
  expect((await send("/moved.bin", "DELETE")).status).toBe(204);
  const back = await fetch(`${url}/node/static/site/copied.bin`, trusting);
  expect(Buffer.from(await back.arrayBuffer()).equals(body)).toBe(true);
  const options = await fetch(url, { method: "OPTIONS", ...trusting });
  expect(options.headers.get("dav")).toBe("1, 2, 3");
}

/** Fails to sign in from another address of this machine, with headers that claim a third; returns the address in the log. */
async function addressOfFailure(url: string, node: TestNode): Promise<unknown> {
  await using curl = await findTool("the client's address behind a proxy", "curl");
  if (curl === undefined) return undefined;
  const claims = ["X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "X-Real-IP: 6.6.6.6"];
  const body = '{"jsonrpc":"2.0","method":"token_list_all_tokens","params":["AAAAAAAAAAAAAAAA:x"],"id":1}';
  const headers = ["content-type: application/json", ...claims].flatMap((line) => ["-H", line]);
  await curl.does(["-sSk", "--interface", "127.0.0.9", ...headers, "-d", body, `${url}/jsonrpc`]);
  return node.node.ring.entries().findLast(({ target }) => target === "token")?.fields.address;
}

/** Sends a request with an id of the client's own; returns the one in the access log. */
async function requestIdAt(url: string, accessLog: string): Promise<unknown> {
  await fetch(`${url}/node/health`, { headers: { "x-request-id": "mine" }, ...trusting });
  const line = await until("the request is in the access log", async () =>
    wholeLines(await Bun.file(accessLog).text()).findLast((line) => line.includes("/node/health")),
  );
  return (JSON.parse(line) as { request_id: unknown }).request_id;
}

/** A folder for the socket, made as documented, in which the members of a group can use the socket. */
async function socketFolder(): Promise<{ path: string; top: string } & AsyncDisposable> {
  const section = sectionOf("operate.md", "The Unix socket");
  const path = join(tmpdir(), `node-socket-${randomUUID()}`);
  const install = /install -d -o node -g www-data -m 750 \/srv\/node-socket/.exec(section)?.[0] ?? "";
  await Bun.$`${replaced(install, [
    ["-o node", "-o root"],
    ["/srv/node-socket", path],
  ]).split(" ")}`;
  return {
    path: join(path, "node.sock"),
    top: replaced(blockOf(section, "toml"), [["/srv/node-socket", path]]),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

test("the documented socket is open to an nginx that runs as www-data", async () => {
  // Only root can start it as another user.
  if (!isRoot) return;
  await using folder = await socketFolder();
  const trusted = /trusted_proxies = \["unix"\]/.exec(documentedProxies)?.[0];
  await using node = await testNode({ logging, top: `${folder.top}${trusted}` });
  await using proxy = await openProxy("nginx", { unix: folder.path, user: "www-data" });
  if (proxy === undefined) return;
  expect((await fetch(`${proxy.url}/node/health`, trusting)).status).toBe(200);
  expect(await addressOfFailure(proxy.url, node)).toBe("127.0.0.9");
});

for (const program of ["nginx", "caddy"] as const) {
  test(`a client behind the documented ${program} cannot choose the id of its request`, async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "access.log");
    const lines = `access_log = ${JSON.stringify(path)}\naccess_log_format = "json"`;
    await using node = await testNode({ logging: lines, top: blockOf(documentedProxies, "toml") });
    await using proxy = await openProxy(program, { address: new URL(node.url).host });
    if (proxy === undefined) return;
    expect(await requestIdAt(proxy.url, path)).toMatch(/^[0-9a-f-]{32,36}$/);
  });

  test(`the documented ${program} passes on everything, and the client's address`, async () => {
    await using node = await testNode({ logging, top: blockOf(documentedProxies, "toml") });
    const { authorization } = await webdavSite(node);
    await using proxy = await openProxy(program, { address: new URL(node.url).host });
    if (proxy === undefined) return;
    await useEveryTransport(proxy.url, node, authorization);
    expect(await addressOfFailure(proxy.url, node)).toBe("127.0.0.9");
  });

  test(`the documented ${program} reaches the server through its Unix socket`, async () => {
    const top = `enable_unix_socket = true\n${/trusted_proxies = \["unix"\]/.exec(documentedProxies)?.[0]}`;
    await using node = await testNode({ logging, top });
    const { authorization } = await webdavSite(node);
    await using proxy = await openProxy(program, { unix: join(node.folder, "data/node.sock") });
    if (proxy === undefined) return;
    await useEveryTransport(proxy.url, node, authorization);
    expect(await addressOfFailure(proxy.url, node)).toBe("127.0.0.9");
  });
}
