import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { halfCall } from "../support/half-call.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { hello, helloAt } from "../support/process.ts";
import { until, within } from "../support/until.ts";

const gone = async (url: string) => until(`${url} refuses`, async () => (await helloAt(url)) === undefined);

/** A server whose reload tells which parts it has changed. */
async function reloadable(top = 'ws_listener = "127.0.0.1:0"\n') {
  const node = await testNode({ top, logging: 'memory_log_filter = "info"\n' });
  const before = await Bun.file(node.configPath).text();
  return {
    ...node,
    node,
    /** Reloads the configuration with other lines above the tables; the parts that changed. */
    async reload(next: string): Promise<unknown> {
      await writeFile(node.configPath, before.replace(top, next));
      if ((await node.node.reload()) === "unchanged") return [];
      return node.node.ring.entries().findLast(({ fields }) => fields.event === "config.applied")?.fields
        .parts;
    },
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

const listener = (address: string, more = "") => `ws_listener = "${address}"\n${more}`;
const socketAt = (path: string) =>
  `${listener("127.0.0.1:0")}enable_unix_socket = true\nunix_socket_path = "${path}"\n`;

function addressOf({ url }: TestNode): { host: string; port: number } {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}

test("a reload moves the listener to another port: the new one answers, the old one refuses, running calls finish", async () => {
  const [from, to] = [await freePort(), await freePort()];
  await using server = await reloadable(listener(`127.0.0.1:${from}`));
  const socket = await server.socket();
  using call = await halfCall(addressOf(server.node));
  expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
  expect(await server.reload(listener(`127.0.0.1:${to}`))).toEqual(["listener"]);
  expect(server.node.url).toBe(`http://127.0.0.1:${to}`);
  expect(await server.call("node-server_hello")).toBe(hello);
  await gone(`http://127.0.0.1:${from}`);
  expect(await call.finish()).toMatchObject({ result: hello });
  expect(await within("the socket of the old listener closes", socket.closed)).toMatchObject({ code: 1001 });
  await using next = await server.socket();
  expect(await next.call("node-server_hello")).toMatchObject({ result: hello });
});

test("a reload moves the listener to another host on the same port, and back", async () => {
  const port = await freePort();
  const hasIpv6 = networkInterfaces().lo?.some(({ address }) => address === "::1") ?? false;
  await using server = await reloadable(listener(`127.0.0.1:${port}`));
  const hosts = [
    "0.0.0.0",
    "127.0.0.1",
    "127.0.0.2",
    "localhost",
    ...(hasIpv6 ? ["[::1]"] : []),
    "127.0.0.1",
  ];
  for (const host of hosts) {
    expect([host, await server.reload(listener(`${host}:${port}`))]).toEqual([host, ["listener"]]);
    expect(server.node.url).toBe(`http://${host}:${port}`);
    const reachable = host === "0.0.0.0" ? "127.0.0.2" : host;
    expect([host, await helloAt(`http://${reachable}:${port}`)]).toEqual([host, hello]);
  }
  await gone(`http://127.0.0.2:${port}`);
  if (hasIpv6) await gone(`http://[::1]:${port}`);
});

test("a listener that moves in the same reload as the limits obeys the new limits", async () => {
  await using server = await reloadable(listener("127.0.0.1:0", "max_request_body_size = 65536\n"));
  expect(await server.reload(listener(`127.0.0.1:${await freePort()}`))).toEqual(["limits", "listener"]);
  const socket = await server.socket();
  const answer = Promise.race([socket.call("node-server_hello", ["x".repeat(70_000)]), socket.closed]);
  expect(await within("the call is answered", answer)).toMatchObject({ result: hello });
});

test("a listener on any free port stays where it is while its configuration does", async () => {
  await using server = await reloadable();
  const { url } = server.node;
  expect(await server.reload(listener("127.0.0.1:0", "max_upload_size = 5\n"))).toEqual(["limits"]);
  expect(server.node.url).toBe(url);
  // The same address, now spelled with the port that was found.
  await server.reload(listener(url.replace("http://", "")));
  expect(server.node.url).toBe(url);
  expect(await helloAt(url)).toBe(hello);
});

test("a reload opens the Unix socket, moves it and takes it away", async () => {
  await using server = await reloadable();
  const path = (unix: string) => join(server.folder, unix);
  const at = (unix: string) => helloAt("http://localhost", { unix: path(unix) });
  const any = listener("127.0.0.1:0");
  expect(await server.reload(`${any}enable_unix_socket = true\n`)).toEqual(["unix socket"]);
  expect(await at("data/node.sock")).toBe(hello);
  await server.reload(socketAt("run/deep/node.sock"));
  expect(await at("run/deep/node.sock")).toBe(hello);
  expect(existsSync(path("data/node.sock"))).toBe(false);
  await server.reload(any);
  expect(existsSync(path("run/deep/node.sock"))).toBe(false);
  expect(await helloAt(server.node.url)).toBe(hello);
  await server.reload(socketAt("run/deep/node.sock"));
  expect(await at("run/deep/node.sock")).toBe(hello);
});

test("the Unix socket may be spelled another way without moving", async () => {
  await using server = await reloadable(socketAt("node.sock"));
  const unix = join(server.folder, "node.sock");
  await server.reload(socketAt(unix));
  expect(await helloAt("http://localhost", { unix })).toBe(hello);
});
