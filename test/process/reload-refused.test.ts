import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { SQL } from "bun";
import { type HalfCall, halfCall } from "../support/half-call.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";
import { type Home, hello, newHome } from "../support/process.ts";
import type { TestSocket } from "../support/socket.ts";

interface Watched {
  readonly home: Home;
  /** The line that told why the reload was refused, after everything proved to be as it was. */
  refused(): Promise<string>;
}

/** A server with an open socket and a running call, both of which have to live through every refused reload. */
async function watched(top: string, story: (watched: Watched) => Promise<void>): Promise<void> {
  await using home = await newHome({ top });
  const server = await home.serve();
  const { url, superToken } = server;
  const socket: TestSocket = await server.socket();
  using call: HalfCall = await halfCall(server.address);
  const refused = async () => {
    const line = await server.reload();
    expect(line).toMatch(/ERROR server: configuration not reloaded, everything stays as it was: /);
    expect(server.url).toBe(url);
    expect(await server.call("token_get", [superToken])).toMatchObject({ username: "root" });
    const answer = await Promise.race([socket.call("node-server_hello"), socket.closed]);
    expect({ line, answer }).toMatchObject({ answer: { result: hello } });
    return line;
  };
  await story({ home, refused });
  expect(await call.finish()).toMatchObject({ result: hello });
  await home.configure({ top });
  expect(await server.reload()).toMatch(/nothing changed/);
  await socket[Symbol.asyncDispose]();
  expect((await server.stop()).stdout.match(/Super Token/g)).toHaveLength(1);
}

test("a configuration that cannot be read leaves the server as it was", () =>
  watched("", async ({ home, refused }) => {
    await writeFile(home.configPath, 'ws_listener = "127.0.0.1:0\n');
    expect(await refused()).toMatch(/config\.toml:1:15: the text that begins here has no closing quote/);
    await home.configure({ top: "jsonrpc_max_connections = 0" });
    expect(await refused()).toMatch(/config\.toml:2:27: jsonrpc_max_connections: must be 1 or more/);
    await rm(home.configPath);
    expect(await refused()).toMatch(/config\.toml does not exist/);
  }));

test("a port that another program has leaves the server as it was, other changes included", () =>
  watched("", async ({ home, refused }) => {
    using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    await home.configure(
      {
        top: `ws_listener = "127.0.0.1:${taken.port}"\njsonrpc_max_connections = 1\nenable_unix_socket = true`,
        logging: 'log_filter = "off"\njson_log_file = "new.log"',
      },
      "sqlite://other/node.db?mode=rwc",
    );
    await home.run(["init"]);
    expect(await refused()).toMatch(
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${taken.port}: another program`),
    );
  }));

test("an address that cannot be had beside the present one leaves the server as it was", async () => {
  const port = await freePort();
  await watched(`ws_listener = "127.0.0.1:${port}"`, async ({ home, refused }) => {
    await home.configure({ top: `ws_listener = "192.0.2.1:${port}"` });
    expect(await refused()).toMatch(/192\.0\.2\.1/);
    // All interfaces include 127.0.0.2, where somebody else is.
    using _taken = Bun.listen({ hostname: "127.0.0.2", port, socket: { data() {} } });
    await home.configure({ top: `ws_listener = "0.0.0.0:${port}"` });
    expect(await refused()).toMatch(/0\.0\.0\.0/);
  });
});

test("a certificate that cannot be read or used leaves the server as it was", async () => {
  const port = await freePort();
  await watched(`ws_listener = "127.0.0.1:${port}"`, async ({ home, refused }) => {
    const tls = { top: `ws_listener = "127.0.0.1:${port}"\ntls_cert = "cert.pem"\ntls_key = "key.pem"` };
    await home.configure(tls);
    expect(await refused()).toMatch(/cert\.pem does not exist; put it there/);
    await writeFile(
      home.file("cert.pem"),
      "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n",
    );
    await writeFile(home.file("key.pem"), "nonsense\n");
    await refused();
  });
});

test("a database that cannot be opened leaves the server as it was", () =>
  watched("", async ({ home, refused }) => {
    const port = await freePort();
    await home.configure({}, `postgres://node:hunter2@127.0.0.1:${port}/node`);
    const line = await refused();
    expect(line).toMatch(new RegExp(`PostgreSQL at 127\\.0\\.0\\.1:${port}/node cannot be reached`));
    expect(line).not.toContain("hunter2");
    await home.configure({}, "sqlite://config.toml/node.db?mode=rwc");
    expect(await refused()).toMatch(/config\.toml\/node\.db/);
    await home.configure({}, "sqlite://absent.db");
    expect(await refused()).toMatch(/absent\.db does not exist/);
  }));

test("a database that is missing or empty leaves the server as it was, and no Super Token is made", async () => {
  const empty = await newPostgresDatabase();
  await watched("", async ({ home, refused }) => {
    await home.configure({}, "sqlite://other/node.db?mode=rwc");
    const init = /`node-server init`, with the same -c, creates it/;
    const missing = await refused();
    expect(missing).toContain(`the database ${home.file("other/node.db")} does not exist`);
    expect(missing).toMatch(init);
    expect(existsSync(home.file("other"))).toBe(false);
    await home.configure({}, empty.url);
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
  await watched("", async ({ home, refused }) => {
    await home.configure({}, database.url);
    await home.run(["init"]);
    await using sql = new SQL({ url: database.url, max: 1 });
    await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await refused()).toMatch(
      /PostgreSQL at \S+ is read-only \(default_transaction_read_only\); turn that off/,
    );
  });
  await database.drop();
});

test("a log file or Unix socket that cannot be opened leaves the server as it was", () =>
  watched("", async ({ home, refused }) => {
    await home.configure({ logging: 'json_log_file = "config.toml/node.log"' });
    expect(await refused()).toMatch(/config\.toml\/node\.log/);
    await home.configure({ top: 'enable_unix_socket = true\nunix_socket_path = "config.toml/node.sock"' });
    expect(await refused()).toMatch(/config\.toml\/node\.sock/);
  }));

test("a reload whose last part fails takes back the parts before it, on the same port too", async () => {
  const port = await freePort();
  await watched(`ws_listener = "127.0.0.1:${port}"`, async ({ home, refused }) => {
    await home.configure({
      top: `ws_listener = "0.0.0.0:${port}"\nenable_unix_socket = true\nunix_socket_path = "config.toml/node.sock"`,
    });
    expect(await refused()).toMatch(/node\.sock/);
  });
});
