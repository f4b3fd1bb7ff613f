import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { halfCall } from "../support/half-call.ts";
import { configText, initDatabase, testNode } from "../support/node.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";
import { hello, type Settings, sqliteUrl } from "../support/process.ts";

interface Watched {
  /** The path of a file beside the configuration. */
  file(name: string): string;
  configure(settings: Settings, databaseUrl?: string): Promise<void>;
  /** Why the reload was refused, after everything proved to be as it was. */
  refused(): Promise<string>;
}

const logging = 'memory_log_filter = "info"\n';

/** A server with an open socket and a running call, both of which have to live through every refused reload. */
async function watched(address: string, story: (watched: Watched) => Promise<void>): Promise<void> {
  await using server = await testNode({ top: `ws_listener = "${address}"\n`, logging });
  const { url, superToken, configPath, folder, node } = server;
  const before = await Bun.file(configPath).text();
  await using socket = await server.socket();
  const { hostname: host, port } = new URL(url);
  using call = await halfCall({ host, port: Number(port) });
  const refused = async () => {
    expect(await node.reload()).toBe("refused");
    const entry = node.ring.entries().findLast(({ fields }) => fields.event === "config.refused");
    expect(server.url).toBe(url);
    expect(await server.call("token_get", [superToken])).toMatchObject({ username: "root" });
    const answer = await Promise.race([socket.call("node-server_hello"), socket.closed]);
    expect({ entry, answer }).toMatchObject({ entry: { level: "ERROR" }, answer: { result: hello } });
    return entry?.message ?? "";
  };
  await story({
    file: (name) => join(folder, name),
    configure: (settings, databaseUrl = sqliteUrl) =>
      writeFile(configPath, configText(databaseUrl, settings)),
    refused,
  });
  expect(await call.finish()).toMatchObject({ result: hello });
  await writeFile(configPath, before);
  expect(await node.reload()).toBe("unchanged");
}

/** The Super Token of a database that a reload would move to. */
const otherToken = "otherOtherOther0:otherOtherOtherOtherOtherOther00";

/** Any free port. */
const anyPort = "127.0.0.1:0";

test("a configuration that cannot be read leaves the server as it was", () =>
  watched(anyPort, async ({ file, configure, refused }) => {
    await writeFile(file("config.toml"), 'ws_listener = "127.0.0.1:0\n');
    expect(await refused()).toMatch(/config\.toml:1:15: the text that begins here has no closing quote/);
    await configure({ top: "jsonrpc_max_connections = 0" });
    expect(await refused()).toMatch(/config\.toml:2:27: jsonrpc_max_connections: must be 1 or more/);
    await rm(file("config.toml"));
    expect(await refused()).toMatch(/config\.toml does not exist/);
  }));

test("a port that another program has leaves the server as it was, other changes included", () =>
  watched(anyPort, async ({ file, configure, refused }) => {
    using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    await configure(
      {
        top: `ws_listener = "127.0.0.1:${taken.port}"\njsonrpc_max_connections = 1\nenable_unix_socket = true`,
        logging: 'log_filter = "off"\njson_log_file = "new.log"',
      },
      "sqlite://other/node.db?mode=rwc",
    );
    await initDatabase(`sqlite://${file("other/node.db")}?mode=rwc`, otherToken);
    expect(await refused()).toMatch(
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${taken.port}: another program`),
    );
  }));

test("an address that cannot be had beside the present one leaves the server as it was", async () => {
  const port = await freePort();
  await watched(`127.0.0.1:${port}`, async ({ configure, refused }) => {
    await configure({ top: `ws_listener = "192.0.2.1:${port}"` });
    expect(await refused()).toMatch(/192\.0\.2\.1/);
    // All interfaces include 127.0.0.2, where somebody else is.
    using _taken = Bun.listen({ hostname: "127.0.0.2", port, socket: { data() {} } });
    await configure({ top: `ws_listener = "0.0.0.0:${port}"` });
    expect(await refused()).toMatch(/0\.0\.0\.0/);
  });
});

test("a certificate that cannot be read or used leaves the server as it was", async () => {
  const port = await freePort();
  await watched(`127.0.0.1:${port}`, async ({ file, configure, refused }) => {
    const tls = { top: `ws_listener = "127.0.0.1:${port}"\ntls_cert = "cert.pem"\ntls_key = "key.pem"` };
    await configure(tls);
    expect(await refused()).toMatch(/cert\.pem does not exist; put it there/);
    await writeFile(file("cert.pem"), "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
    await writeFile(file("key.pem"), "nonsense\n");
    await refused();
  });
});

test("a database that cannot be opened leaves the server as it was", () =>
  watched(anyPort, async ({ configure, refused }) => {
    const port = await freePort();
    await configure({}, `postgres://node:hunter2@127.0.0.1:${port}/node`);
    const line = await refused();
    expect(line).toMatch(new RegExp(`PostgreSQL at 127\\.0\\.0\\.1:${port}/node cannot be reached`));
    expect(line).not.toContain("hunter2");
    await configure({}, "sqlite://config.toml/node.db?mode=rwc");
    expect(await refused()).toMatch(/config\.toml\/node\.db/);
    await configure({}, "sqlite://absent.db");
    expect(await refused()).toMatch(/absent\.db does not exist/);
  }));

test("a database that is missing or empty leaves the server as it was, and no Super Token is made", async () => {
  const empty = await newPostgresDatabase();
  await watched(anyPort, async ({ file, configure, refused }) => {
    await configure({}, "sqlite://other/node.db?mode=rwc");
    const init = /`node-server init`, with the same -c, creates it/;
    const missing = await refused();
    expect(missing).toContain(`the database ${file("other/node.db")} does not exist`);
    expect(missing).toMatch(init);
    expect(existsSync(file("other"))).toBe(false);
    await configure({}, empty.url);
    expect(await refused()).toMatch(/the database \S+ is empty; /);
    await using sql = new SQL({ url: empty.url, max: 1 });
    const [{ tables }] = await sql`SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'public'`;
    expect(tables).toBe(0);
  });
  await empty.drop();
});

test("a database that takes no writes leaves the server as it was", async () => {
  const database = await newPostgresDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await watched(anyPort, async ({ configure, refused }) => {
    await configure({}, database.url);
    await initDatabase(database.url, otherToken);
    await using sql = new SQL({ url: database.url, max: 1 });
    await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await refused()).toMatch(
      /PostgreSQL at \S+ is read-only \(default_transaction_read_only\); turn that off/,
    );
  });
  await database.drop();
});

test("a log file or Unix socket that cannot be opened leaves the server as it was", () =>
  watched(anyPort, async ({ configure, refused }) => {
    await configure({ logging: 'json_log_file = "config.toml/node.log"' });
    expect(await refused()).toMatch(/config\.toml\/node\.log/);
    await configure({ top: 'enable_unix_socket = true\nunix_socket_path = "config.toml/node.sock"' });
    expect(await refused()).toMatch(/config\.toml\/node\.sock/);
  }));

test("a reload whose last part fails takes back the parts before it, on the same port too", async () => {
  const port = await freePort();
  await watched(`127.0.0.1:${port}`, async ({ configure, refused }) => {
    await configure({
      top: `ws_listener = "0.0.0.0:${port}"\nenable_unix_socket = true\nunix_socket_path = "config.toml/node.sock"`,
    });
    expect(await refused()).toMatch(/node\.sock/);
  });
});
