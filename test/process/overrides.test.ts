import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { applied, hello, helloAt, newHome, story } from "../support/process.ts";

story("--listen wins over the environment, which wins over the file, also after a reload", async () => {
  await using home = await newHome({ top: 'ws_listener = "127.0.0.1:1"' });
  const [first, second] = [await freePort(), await freePort()];
  const env = { NODE_SERVER_WS_LISTENER: `127.0.0.1:${first}`, NODE_SERVER_MEMORY_LOG_CAPACITY: "7" };
  const plain = await home.serve({ env });
  expect(plain.url).toBe(`http://127.0.0.1:${first}`);
  await plain.says(
    /INFO server: settings from outside the configuration file: NODE_SERVER_WS_LISTENER, NODE_SERVER_MEMORY_LOG_CAPACITY\n/,
  );
  const token = plain.superToken;
  await plain.stop();

  const server = await home.launch({ env }, ["serve", "--listen", `127.0.0.1:${second}`]).ready();
  expect(server.url).toBe(`http://127.0.0.1:${second}`);
  await home.configure({ top: 'ws_listener = "127.0.0.1:2"\nmax_upload_size = 5' });
  expect(await server.reload()).toMatchObject(applied("limits"));
  expect(await helloAt(server.url)).toBe(hello);

  // A wrong value is refused although it would have no effect now: the next start may be without the option.
  const wrong = await server.send("node-server_edit_config", {
    token,
    config_string: 'ws_listener = "x"\n[database]\ndatabase_url = "sqlite:x"\n',
  });
  expect(wrong.error?.data).toMatchObject({ field: "ws_listener", line: 1, column: 15 });
  // The file may lack what the environment sets, and only the file is written.
  const text = '[database]\ndatabase_url = "sqlite://data/node.db?mode=rwc"\n';
  const from = server.stderr.length;
  expect(await server.call("node-server_edit_config", { token, config_string: text })).toBe(true);
  await server.says(/event=config\.applied parts=\["limits"\]/, from);
  expect(await readFile(home.configPath, "utf8")).toBe(text);
  expect(await helloAt(server.url)).toBe(hello);
  await server.stop();
});

story("an address that is none is wrong usage, and starts nothing", async () => {
  await using home = await newHome();
  const { code, stdout, stderr } = await home.run(["serve", "--listen", "everywhere"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("ip:port or host:port");
});

story("a wrong variable ends every command with one line that names it and not its value", async () => {
  await using home = await newHome();
  const env = { NODE_SERVER_DATABASE_URL: "mysql://root:hunter2@db/node" };
  for (const args of [["serve"], ["init"], ["check"], ["get-uuid"], ["roll-super-token", "--yes"]]) {
    const { code, stdout, stderr } = await home.run(args, { env });
    expect([args, code, stdout]).toEqual([args, 1, ""]);
    expect(stderr).toContain("node-server: NODE_SERVER_DATABASE_URL: must begin with sqlite:, postgres://");
    expect(stderr).not.toContain("hunter2");
  }
});

eachDatabase("check names the keys that the environment sets, and a mistyped variable", async (kind) => {
  await using home = await newHome();
  const database = await newDatabase(kind, home.path);
  const url = kind === "postgres" ? database.url.replace("postgres@", "postgres:hunter2@") : database.url;
  const env = { NODE_SERVER_DATABASE_URL: url, NODE_SERVER_STATC_PATH: "x" };
  expect((await home.run(["init"], { env })).stdout).toStartWith("Super Token: ");
  const { code, stdout, stderr } = await home.run(["check", "--connect"], { env });
  expect([code, stderr]).toEqual([
    0,
    "warning: NODE_SERVER_STATC_PATH: is unknown and has no effect; did you mean NODE_SERVER_STATIC_PATH?\n",
  ]);
  expect(stdout).toContain(
    " can be used.\ndatabase.database_url has the value of NODE_SERVER_DATABASE_URL.\n",
  );
  const server = await home.serve({ env });
  await server.says(/WARN server: NODE_SERVER_STATC_PATH is unknown and has no effect;/);
  expect(stdout + server.stderr).not.toContain("hunter2");
  await server.stop();
  await database.drop();
});

story("a RUST_LOG that overrides log_filter is named by check and the start", async () => {
  await using home = await newHome({ logging: 'log_filter = "warn"' });
  const env = { RUST_LOG: "info,rcp=debug", NODE_SERVER_LOG_FILTER: "error" };
  const { code, stdout, stderr } = await home.run(["check"], { env });
  expect([code, stdout]).toEqual([
    0,
    "logging.log_filter has the value of RUST_LOG.\nconfig.toml is a valid configuration.\n",
  ]);
  expect(stderr).toBe(
    "warning: RUST_LOG: names the target `rcp`, under which nothing is logged; did you mean `rpc`?\n",
  );
  const server = await home.serve({ env });
  await server.says(/INFO server: settings from outside the configuration file: RUST_LOG\n/);
  expect(server.stderr.match(/WARN server: RUST_LOG names the target `rcp`/g)).toHaveLength(1);
  await server.stop();
  await home.configure();
  expect((await home.run(["check"], { env: { RUST_LOG: "info" } })).stdout).not.toContain("RUST_LOG");
  const wrong = await home.run(["check"], { env: { RUST_LOG: "server=loud" } });
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("`loud` is not a level")]);
});
