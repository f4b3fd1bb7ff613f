import { expect } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "../../src/log/entry.ts";
import { configText, eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { hello } from "../support/process.ts";
import type { Notification } from "../support/socket.ts";
import { until } from "../support/until.ts";

const edits = 50;
/** What an open file, a pooled connection more or less, and a socket that is about to close may make. */
const tolerance = 8;

const descriptors = async () => (await readdir("/proc/self/fd")).length;

/** Every edit changes something: the log in memory, its file, the limits, the database's settings, the Unix socket. */
function nthConfig(node: TestNode, n: number): string {
  const unix =
    n % 3 === 0 ? `enable_unix_socket = true\nunix_socket_path = "${join(node.folder, "x.sock")}"` : "";
  const file = n % 2 === 0 ? `json_log_file = "${join(node.folder, `log-${n % 4}.json`)}"` : "";
  return configText(node.databaseUrl, {
    top: `static_path = ${JSON.stringify(join(node.folder, "static"))}\njsonrpc_max_connections = ${100 + n}\nmax_request_body_size = ${1_000_000 + n}\n${unix}`,
    logging: `memory_log_filter = "info"\nmemory_log_capacity = ${1000 + n}\njson_log_filter = "info"\n${file}`,
    databaseKeys: `timeout_ms = ${3000 + n}`,
  });
}

/** Calls one after the other until told to stop; how many there were. */
function keepCalling(call: () => Promise<unknown>): () => Promise<number> {
  let going = true;
  const done = (async () => {
    let calls = 0;
    for (; going; calls += 1) await call();
    return calls;
  })();
  return () => {
    going = false;
    return done;
  };
}

eachDatabase(
  "fifty edits in a row: no call fails, no event is lost, no descriptor leaks",
  async (kind) => {
    await using node = await testNode({ database: kind, logging: 'memory_log_filter = "info"' });
    const { superToken: token } = node;
    await using caller = await node.socket();
    await using listener = await node.socket();
    const { result: id } = await listener.call("node-server_stream_log", [
      token,
      "off,server=info,task=info",
    ]);
    // One round first, so that what is opened once and kept counts as present.
    expect(await node.call("node-server_edit_config", [token, nthConfig(node, 0)])).toBe(true);
    await caller.call("token_get", [token]);
    await Bun.sleep(200);
    const before = await descriptors();

    const stops = [
      keepCalling(async () => expect(await node.call("node-server_hello")).toBe(hello)),
      keepCalling(async () => {
        expect(await caller.call("token_get", [token])).toHaveProperty("result.username", "root");
      }),
      keepCalling(async () => {
        expect(await caller.call("node-server_hello")).toHaveProperty("result", hello);
      }),
    ];
    const log = node.node.hub.logger("task");
    let events = 0;
    const ticking = setInterval(() => {
      log.info(`event ${events}`);
      events += 1;
    }, 1);
    for (let n = 1; n <= edits; n += 1) {
      expect(await node.call("node-server_edit_config", [token, nthConfig(node, n)])).toBe(true);
    }
    await until("the last edit is in force", async () =>
      (await node.node.reload()) === "unchanged" ? true : undefined,
    );
    clearInterval(ticking);
    const calls = await Promise.all(stops.map((stop) => stop()));
    for (const made of calls) expect(made).toBeGreaterThan(edits / 2);
    expect(await readFile(node.configPath, "utf8")).toBe(nthConfig(node, edits));

    log.info("the end");
    const heard: LogEntry[] = [];
    while (heard.at(-1)?.message !== "the end") {
      const { params } = (await listener.next()) as Notification;
      expect(params.subscription).toBe(String(id));
      heard.push(params.result as LogEntry);
    }
    const told = heard.map(({ message }) => message);
    expect(told.filter((message) => /^event /.test(message))).toEqual(
      Array.from({ length: events }, (_, n) => `event ${n}`),
    );
    expect(told.filter((message) => /^configuration re/.test(message)).length).toBeGreaterThan(edits);
    expect(heard.filter(({ level }) => level === "ERROR" || level === "WARN")).toEqual([]);
    let after = 0;
    await until("descriptors are given back", async () => {
      after = await descriptors();
      return after <= before + tolerance ? true : undefined;
    }).catch(() => {});
    expect(after).toBeLessThanOrEqual(before + tolerance);
  },
  // Fifty edits, each of which opens another log, and now and then a socket, while calls go on.
  180_000,
);
