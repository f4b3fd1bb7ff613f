import { expect } from "bun:test";
import { mkdir, readFile, rename } from "node:fs/promises";
import { SQL } from "bun";
import type { LogEntry } from "../../src/log/entry.ts";
import { halfCall } from "../support/half-call.ts";
import { lockWaiters, newPostgresDatabase } from "../support/postgres.ts";
import { applied, hello, newHome, story } from "../support/process.ts";
import { until } from "../support/until.ts";

story("SIGHUP turns the log up and down", async () => {
  await using home = await newHome({ logging: 'log_filter = "info"' });
  const server = await home.serve();
  await server.call("node-server_hello");
  await home.configure({ logging: 'log_filter = "info,rpc=debug"' });
  expect(await server.reload()).toMatchObject(applied("logging"));
  expect(server.stderr).not.toContain("DEBUG");
  await server.call("node-server_hello");
  await server.says(/DEBUG rpc: node-server::hello: success/);
  await home.configure({ logging: 'log_filter = "info"' });
  await server.reload();
  const from = server.stderr.length;
  await server.call("node-server_hello");
  await server.reload();
  expect(server.stderr.slice(from)).not.toContain("DEBUG");
});

for (const processes of [1, 2])
  story(`SIGHUP while a server starts is obeyed when it is up (processes: ${processes})`, async () => {
    const database = await newPostgresDatabase();
    await using home = await newHome();
    await mkdir(home.file("blobs"));
    const configure = (filter: string) =>
      home.configure(
        {
          databaseKeys: "timeout_ms = 60000",
          logging: `log_filter = "${filter}"`,
          files: `url = "file://${home.file("blobs")}"`,
        },
        database.url,
      );
    await configure("info");
    await home.run(["init"]);
    await using sql = new SQL({ url: database.url, max: 1 });
    const { starting: server } = await sql.begin(async (lock) => {
      await lock`LOCK TABLE token IN ACCESS EXCLUSIVE MODE`;
      const starting = home.launch({}, ["serve", "--processes", String(processes)]);
      await until("the start waits", async () => (await lockWaiters(database.url)) !== 0);
      await configure("info,rpc=debug");
      starting.signal("SIGHUP");
      return { starting };
    });
    await server.ready();
    await server.says(/event=config\.applied parts=\["logging"\]( process=1)?\n/);
    expect(await server.stop()).toMatchObject({ code: 0 });
    await database.drop();
  });

story("RUST_LOG wins over log_filter, at the start and at every reload", async () => {
  await using home = await newHome({ logging: 'log_filter = "off"' });
  const server = await home.serve({ env: { RUST_LOG: "info,rpc=debug" } });
  await home.configure({ logging: 'log_filter = "error"' });
  await server.reload();
  await server.call("node-server_hello");
  await server.says(/DEBUG rpc: node-server::hello: success/);
});

story(
  "sockets, subscriptions and running calls live through reloads that do not move their listener",
  async () => {
    await using home = await newHome();
    // Both databases know it: a stream whose token has ended would end too.
    const superToken = "aaaaaaaaaaaaaaaa:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const env = { NODE_SERVER_SUPER_TOKEN: superToken };
    const server = await home.serve({ env });
    await using socket = await server.socket();
    const { result: id } = await socket.call("node-server_stream_log", [superToken, "server=info"]);
    using call = await halfCall(server.address);
    await home.configure(
      { top: "jsonrpc_max_connections = 50\nenable_unix_socket = true", logging: 'log_filter = "debug"' },
      "sqlite://other/node.db?mode=rwc",
    );
    await home.run(["init"], { env });
    expect(await server.reload()).toMatchObject(applied("limits", "logging", "database", "unix socket"));
    await home.configure();
    expect(await server.reload()).toMatchObject(applied("limits", "logging", "database", "unix socket"));
    expect(await call.finish()).toMatchObject({ result: hello });
    expect(await socket.call("node-server_hello")).toMatchObject({ result: hello });
    await server.reload();
    for (let heard = 0; ; heard += 1) {
      const event = await socket.next();
      expect(event).toMatchObject({ method: "node-server_stream_log", params: { subscription: id } });
      if (JSON.stringify(event).includes("config.unchanged")) break;
      expect(heard).toBeLessThan(20);
    }
  },
);

story("keys that mean nothing are named in a WARN line, at the start and at a reload", async () => {
  await using home = await newHome({ top: "colour = 1" });
  const server = await home.serve();
  await server.says(/WARN server: .*\bcolour\b.*unknown/);
  await home.configure({ logging: "loud = true", databaseKeys: "retries = 3\n[extra]\nkey = 1" });
  await server.reload();
  for (const key of ["logging.loud", "database.retries", "extra"]) {
    await server.says(new RegExp(`WARN server: .*${key}\\b.*unknown`));
  }
  expect(server.stderr.match(/WARN/g)).toHaveLength(4);
});

story("SIGHUP moves the JSON log to another file, and goes on in a new one after rotation", async () => {
  const logTo = (name: string) => ({
    logging: `json_log_file = "${name}"\njson_log_filter = "info,rpc=debug"`,
  });
  await using home = await newHome(logTo("logs/a.log"));
  const server = await home.serve();
  const lines = async (name: string) =>
    (await readFile(home.file(name), "utf8").catch(() => ""))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogEntry);
  const callsIn = async (name: string, method: string) =>
    (await lines(name)).filter(({ spans }) => spans[0]?.name === method).length;
  const written = (name: string, method: string, count: number) =>
    until(`${name} tells of ${count} ${method}`, async () => (await callsIn(name, method)) === count);

  await server.call("node-server_hello");
  await written("logs/a.log", "node-server::hello", 1);
  await rename(home.file("logs/a.log"), home.file("logs/a.log.1"));
  await server.call("node-server_uuid");
  await written("logs/a.log", "node-server::uuid", 1);
  await server.reload();
  await server.call("node-server_version");
  await written("logs/a.log", "node-server::version", 1);
  expect((await lines("logs/a.log.1")).length).toBeGreaterThan(0);
  for (const method of ["node-server::uuid", "node-server::version"])
    expect(await callsIn("logs/a.log.1", method)).toBe(0);

  await home.configure(logTo("logs/b.log"));
  await server.reload();
  await server.call("rpc.discover");
  await written("logs/b.log", "rpc::discover", 1);
  expect(await callsIn("logs/a.log", "rpc::discover")).toBe(0);
  await server.stop();
  expect((await lines("logs/b.log")).at(-1)?.message).toBe("stopping on SIGTERM");
});
