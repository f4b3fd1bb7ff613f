import { afterAll, expect } from "bun:test";
import { connect } from "node:tls";
import {
  bucketAt,
  issuedFor,
  orderingNode,
  ordersFrom,
  problemOf,
  serverName,
  shownFor,
} from "../support/certs.ts";
import { User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { openPebble } from "../support/pebble.ts";
import { freePort } from "../support/postgres.ts";
import { test } from "../support/test.ts";

const opened = await openPebble();
afterAll(() => opened?.[Symbol.asyncDispose]());

/** The status that a client gets which names one host to TLS and another to HTTP. */
function statusOf(
  url: string,
  { sni, host, path }: { sni: string; host: string; path: string },
): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(
    { host: hostname, port: Number(port), servername: sni, rejectUnauthorized: false },
    () => socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
  );
  socket.on("data", (bytes) => resolve(Number(bytes.toString("latin1").slice(9, 12))));
  socket.on("error", reject);
  return promise;
}

if (opened !== undefined) {
  const pebble = opened;

  test("sites and console are apart at their names, whatever a client names in its handshake", async () => {
    await using node = await orderingNode(pebble);
    await bucketAt(node, "shop", "shop.example.com");
    for (const name of [serverName, "shop.example.com"]) await issuedFor(node, name);
    const unknown = "unknown.example.com";
    expect((await shownFor(node.url, unknown)).subject).toBe(serverName);
    for (const sni of [serverName, "shop.example.com", unknown])
      for (const [host, path, status] of [
        [serverName, "/node/console/", 200],
        ["127.0.0.1", "/node/console/", 200],
        ["shop.example.com", "/node/console/", 421],
        ["shop.example.com", "/node/console/remember", 421],
        ["shop.example.com", "/nothing", 404],
        [unknown, "/node/console/", 421],
        [unknown, "/", 421],
        [unknown, "/node/health", 200],
      ] as const)
        expect([sni, host, path, await statusOf(node.url, { sni, host, path })]).toEqual([
          sni,
          host,
          path,
          status,
        ]);
  }, 40_000);

  test("a name without a certificate is in the verdict, and commands on the machine reach the server", async () => {
    pebble.elsewhere.set("away.example.com", undefined);
    const port = await freePort();
    const { top, reach } = ordersFrom(pebble);
    await using node = await testNode({ reach, top: `ws_listener = "127.0.0.1:${port}"\n${top}` });
    await bucketAt(node, "away", "away.example.com");
    expect(await problemOf(node, "away.example.com")).toMatchObject({ reason: "dns_missing" });
    const { reasons } = (await node.call("node-server_status", [node.superToken])) as { reasons: unknown[] };
    expect(reasons).toContainEqual({ code: "uncertified", level: "attention", names: ["away.example.com"] });
    await using user = await User.open();
    const health = await user.run(["health", "-c", node.configPath]);
    expect([health.code, health.stdout]).toEqual([0, expect.stringContaining('"ok"')]);
    await issuedFor(node, serverName);
    const check = await user.run(["check", "-c", node.configPath]);
    expect([check.code, check.stderr]).toEqual([0, ""]);
  }, 40_000);
}
