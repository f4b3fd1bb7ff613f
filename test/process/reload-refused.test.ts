import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { freePort } from "../support/postgres.ts";
import { type HalfCall, type Home, halfCall, hello, newHome } from "../support/process.ts";
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
  expect(await server.stop()).toMatchObject({ code: 0 });
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
    expect(await refused()).toMatch(/cert\.pem cannot be read/);
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
