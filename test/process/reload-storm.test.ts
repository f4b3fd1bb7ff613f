import { expect } from "bun:test";
import type { LogEntry } from "../../src/log/entry.ts";
import { applied, hello, newHome, story } from "../support/process.ts";
import { until } from "../support/until.ts";

// `node-server/config-reload` proves the same decisions in process, by edits.

const big = "x".repeat(70_000);

story("SIGHUP resizes the memory of the log, and keeps the newest entries", async () => {
  const capacity = (entries: number) => ({
    logging: `memory_log_filter = "rpc=debug"\nmemory_log_capacity = ${entries}`,
  });
  await using home = await newHome(capacity(100));
  const server = await home.serve();
  const { superToken } = server;
  const remembered = async () => (await server.call("node-server_log", [superToken])) as LogEntry[];
  for (let round = 0; round < 5; round += 1) await server.call("node-server_uuid");
  const before = await remembered();
  expect(before.length).toBeGreaterThan(4);

  await home.configure(capacity(3));
  await server.reload();
  const kept = await remembered();
  expect(kept).toHaveLength(3);
  expect(kept.slice(0, 2)).toEqual(before.slice(-2));
  await home.configure(capacity(0));
  await server.reload();
  expect(await remembered()).toEqual([]);
  await home.configure(capacity(10));
  await server.reload();
  await server.call("node-server_uuid");
  expect((await remembered()).length).toBeGreaterThan(0);
});

story("SIGHUP moves the limits without dropping a connection", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { url } = server;
  await using socket = await server.socket();
  await home.configure({
    top: "jsonrpc_max_connections = 1\nmax_request_body_size = 65536\nmax_response_body_size = 500",
  });
  expect(await server.reload()).toMatchObject(applied("limits"));
  const post = (body: string) =>
    fetch(`${url}/jsonrpc`, { method: "POST", headers: { "content-type": "application/json" }, body });
  expect((await post("[]")).status).toBe(429);
  expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
  expect(await socket.call("rpc.discover")).toMatchObject({ error: { code: -32008 } });
  await home.configure({ top: "jsonrpc_max_connections = 2\nmax_request_body_size = 65536" });
  await server.reload();
  expect((await post(`"${big}"`)).status).toBe(413);
  expect(await socket.call("rpc.discover")).toHaveProperty("result.openrpc");
  await home.configure();
  await server.reload();
  expect((await post(`"${big}"`)).status).toBe(200);
  expect(await socket.call("node-server_hello", [big])).toMatchObject({ result: hello });
  expect(socket.socket.readyState).toBe(WebSocket.OPEN);
});

story("a WebSocket that was opened before a reload obeys the new limits too", async () => {
  await using home = await newHome({ top: "max_request_body_size = 65536" });
  const server = await home.serve();
  await using socket = await server.socket();
  await home.configure();
  await server.reload();
  expect(await socket.call("node-server_hello", [big])).toMatchObject({ result: hello });
});

story("a storm of SIGHUPs does no harm", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const { superToken } = server;
  await using socket = await server.socket();
  const calls: Promise<unknown>[] = [];
  for (let round = 0; round < 50; round += 1) {
    if (round % 10 === 0) {
      await home.configure({ logging: `memory_log_capacity = ${round + 10}` });
    }
    server.signal("SIGHUP");
    calls.push(server.newToken(superToken), socket.call("node-server_hello"));
    await Bun.sleep(round % 3);
  }
  await Promise.all(calls);
  await home.configure({ logging: "memory_log_capacity = 2" });
  server.signal("SIGHUP");
  await until("the last configuration counts", async () => {
    const entries = (await server.call("node-server_log", [superToken])) as LogEntry[];
    return entries.length === 2;
  });
  expect(server.stderr).not.toMatch(/ERROR|WARN/);
  expect((await socket.call("node-server_hello")).result).toBe(hello);
  expect(await server.stop()).toMatchObject({ code: 0 });
});
