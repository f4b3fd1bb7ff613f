import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { halfCall } from "../support/half-call.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { lockWaiters, newPostgresDatabase } from "../support/postgres.ts";
import { isPending } from "../support/proc.ts";
import { hello, helloAt, newHome, story } from "../support/process.ts";
import { chosenFor, leftToAll } from "../support/tier.ts";
import { until, within } from "../support/until.ts";

const further = leftToAll(story);

for (const signal of chosenFor("stops the server", ["SIGTERM", "SIGINT"] as const)) {
  story(`${signal} stops the server with 0 and closes the database`, async () => {
    await using home = await newHome();
    const server = await home.serve();
    const { superToken } = server;
    const token = await server.newToken();
    expect(existsSync(home.file("data/node.db-wal"))).toBe(true);
    const ended = await server.stop(signal);
    expect({ code: ended.code, signal: ended.signal }).toEqual({ code: 0, signal: null });
    expect(ended.stderr).toMatch(new RegExp(`INFO server: stopping on ${signal}\\n`));
    expect(ended.stderr).not.toMatch(/ERROR|WARN/);
    expect((await readdir(home.file("data"))).sort()).toEqual(["node.db", "node.db.lock"]);
    expect(await helloAt(server.url)).toBeUndefined();

    const next = await home.serve();
    expect(await next.call("token_get", { token, supertoken: superToken })).toMatchObject({
      token_key: token.split(":")[0],
    });
  });
}

story("a stopping server turns newcomers away and finishes the call that runs", async () => {
  await using home = await newHome();
  const server = await home.serve();
  using call = await halfCall(server.address);
  await server.call("node-server_hello");
  server.signal("SIGTERM");
  await server.says(/stopping/);
  await until("newcomers are turned away", async () => (await helloAt(server.url)) === undefined);
  expect(server.alive).toBe(true);
  expect(await call.finish()).toMatchObject({ result: hello });
  expect(await within("the server ends", server.exited)).toMatchObject({ code: 0 });
  expect(existsSync(home.file("data/node.db-wal"))).toBe(false);
});

story(
  "a call that waits for the database is finished before the stop, over HTTP and over WebSocket",
  async () => {
    const database = await newPostgresDatabase();
    await using home = await newHome({ databaseKeys: "timeout_ms = 60000" }, database.url);
    const server = await home.serve();
    const { superToken } = server;
    await using socket = await server.socket();
    await using sql = new SQL({ url: database.url, max: 1 });
    const lock = await sql.reserve();
    await lock`BEGIN`;
    await lock`LOCK TABLE token IN ACCESS EXCLUSIVE MODE`;
    const posted = server.send("token_list_all_tokens", [superToken]);
    const sent = socket.call("token_list_all_tokens", [superToken]);
    await until("both calls wait", async () => (await lockWaiters(database.url)) === 2);
    server.signal("SIGTERM");
    await server.says(/stopping/);
    await lock`COMMIT`;
    lock.release();
    expect((await posted).result).toHaveProperty("tokens.0.username", "root");
    expect((await sent).result).toHaveProperty("tokens.0.username", "root");
    expect(await within("the socket closes", socket.closed)).toMatchObject({ code: 1001 });
    expect(await within("the server ends", server.exited)).toMatchObject({ code: 0 });
    await database.drop();
  },
);

further(
  "open WebSockets hear 1001 when the server stops, and idle connections do not hold it up",
  async () => {
    await using home = await newHome();
    const server = await home.serve();
    const sockets = await Promise.all([server.socket(), server.socket(), server.socket()]);
    for (const socket of sockets) {
      expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
    }
    const kept = await fetch(server.url, { keepalive: true });
    await kept.text();
    const stopped = server.stop();
    for (const { closed } of sockets) {
      expect(await within("a socket closes", closed)).toMatchObject({ code: 1001 });
    }
    const ended = await within("the server ends", stopped);
    expect(ended).toMatchObject({ code: 0 });
    // It would have waited for them.
    expect(ended.stderr).not.toContain("cut off");
  },
);

story("a second signal ends the server at once, whatever still runs", async () => {
  await using home = await newHome();
  const server = await home.serve();
  using _call = await halfCall(server.address);
  await server.call("node-server_hello");
  server.signal("SIGTERM");
  await server.says(/stopping/);
  await until("the port refuses", async () => (await helloAt(server.url)) === undefined);
  expect(server.alive).toBe(true);
  server.signal("SIGINT");
  const ended = await within("the server ends", server.exited);
  expect(ended.code === 1 || ended.signal === "SIGINT").toBe(true);
  expect(await (await home.serve()).call("node-server_hello")).toBe(hello);
});

test("a call that never ends holds the stop up for a bounded time only", async () => {
  const clock = new ManualClock();
  await using server = await testNode({ clock, logging: 'memory_log_filter = "info"\n' });
  const { node, folder, url } = server;
  const { hostname: host, port } = new URL(url);
  using _call = await halfCall({ host, port: Number(port) });
  await server.call("node-server_hello");
  await clock.settle(node.close(), 1000);
  expect(node.ring.entries().findLast(({ fields }) => fields.event === "listener.cut_off")).toMatchObject({
    level: "WARN",
    fields: { url, requests: 1, sockets: 0 },
  });
  expect(existsSync(join(folder, "data/node.db-wal"))).toBe(false);
});

further(
  "a stopping server accepts nothing new on any of its places, also while one of them finishes a call",
  async () => {
    await using home = await newHome({ top: 'enable_unix_socket = true\nunix_socket_path = "node.sock"' });
    const server = await home.serve();
    await server.says(/listening on unix:/);
    const unix = home.file("node.sock");
    const { url } = server;
    using call = await halfCall({ path: unix });
    expect(await helloAt("http://localhost", { unix })).toBe(hello);
    server.signal("SIGTERM");
    await server.says(/stopping/);
    const refuses = async (...[at, init]: Parameters<typeof helloAt>) =>
      (await helloAt(at, init)) === undefined;
    // That the call is still answered afterwards proves that this was not the end of the server.
    await until("the Unix socket refuses", () => refuses("http://localhost", { unix }));
    await until("the TCP port refuses", () => refuses(url));
    expect(await call.finish()).toMatchObject({ result: hello });
    expect(await within("the server ends", server.exited)).toMatchObject({ code: 0 });
  },
);

story("a server that stops takes up no new configuration", async () => {
  await using home = await newHome();
  const server = await home.serve();
  using call = await halfCall(server.address);
  await server.call("node-server_hello");
  server.signal("SIGTERM");
  await server.says(/stopping/);
  await home.configure({}, "sqlite://other/node.db?mode=rwc");
  server.signal("SIGHUP");
  await until("the signal was taken", async () => !(await isPending(server, "SIGHUP")));
  expect(await call.finish()).toMatchObject({ result: hello });
  expect(await within("the server ends", server.exited)).toMatchObject({ code: 0 });
  expect(server.stderr.match(/listening on/g)).toHaveLength(1);
  expect(existsSync(home.file("other"))).toBe(false);
});

further("a server goes on when nobody reads its output any more", async () => {
  await using home = await newHome({ logging: 'log_filter = "trace"\njson_log_file = "log"' });
  const server = await home.serve();
  const { url, superToken } = server;
  await server.hangUp();
  for (let round = 0; round < 20; round += 1) expect(await helloAt(url)).toBe(hello);
  server.signal("SIGHUP");
  await until(
    "the reload is over",
    () => existsSync(home.file("log")) && readFileSync(home.file("log"), "utf8").includes("config.unchanged"),
  );
  expect(await server.newToken(superToken)).toMatch(/:/);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

story("a server starts although nobody reads its output", async () => {
  await using home = await newHome({ top: 'enable_unix_socket = true\nunix_socket_path = "node.sock"' });
  const server = home.launch();
  await server.hangUp();
  const unix = home.file("node.sock");
  await until(
    "it answers or ends",
    async () => (await helloAt("http://localhost", { unix })) === hello || !server.alive,
  );
  expect(server.alive).toBe(true);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

further("SIGUSR1 and SIGUSR2, which mean something to other servers, do nothing", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await until("the first start has told all", async () => server.stderr.includes("sign in to the console"));
  const before = server.stderr;
  for (const name of ["SIGUSR1", "SIGUSR2"] as const) {
    server.signal(name);
    await until("the signal was taken", async () => !(await isPending(server, name)));
  }
  expect(await server.call("node-server_hello")).toBe(hello);
  expect(server.stderr).toBe(before);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

further("a SIGHUP during the start does no harm", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome({}, database.url);
  await using sql = new SQL({ url: database.url, max: 1 });
  // The lock under which schemas change: as if another server were migrating.
  await sql`SELECT pg_advisory_lock(${0x6e6f6465})`;
  const server = home.launch();
  await until("the start waits for the lock", async () => (await lockWaiters(database.url)) === 1);
  server.signal("SIGHUP");
  await until("the signal was taken", async () => !(await isPending(server, "SIGHUP")));
  await sql`SELECT pg_advisory_unlock(${0x6e6f6465})`;
  await server.ready();
  expect(await server.call("node-server_hello")).toBe(hello);
  await database.drop();
});
