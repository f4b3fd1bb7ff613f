import { expect } from "bun:test";
import { rm } from "node:fs/promises";
import { configText } from "../support/node.ts";
import { applied, newHome, refused, sqliteUrl, story } from "../support/process.ts";
import { until, within } from "../support/until.ts";

/** Replaces what is at `path` by a FIFO that nobody writes into. */
async function makeFifo(path: string): Promise<void> {
  await rm(path, { force: true });
  expect(await Bun.spawn(["mkfifo", path]).exited).toBe(0);
}

story("a configuration that became a FIFO is refused at a reload, and the next one is applied", async () => {
  await using home = await newHome();
  const server = await home.serve();
  await makeFifo(home.configPath);
  for (const _ of [1, 2])
    expect(await server.reload()).toMatchObject({
      ...refused,
      line: expect.stringContaining(home.configPath),
    });
  const edit = await server.send("node-server_edit_config", [server.superToken, configText(sqliteUrl)]);
  expect(edit.error).toMatchObject({ code: 108 });
  await rm(home.configPath);
  await home.configure({ top: "jsonrpc_max_connections = 7" });
  expect(await server.reload()).toMatchObject(applied("limits"));
  await makeFifo(home.configPath);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

// A command that waits for a FIFO would stop the process of the test, and with it the limit of the story.

story("a FIFO in the place of a file is refused by check and by a start, and neither waits", async () => {
  await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
  await makeFifo(home.file("cert.pem"));
  const files: Array<[name: string, said: RegExp]> = [
    ["cert.pem", /cert\.pem is a pipe, socket or device, not a regular file/],
    ["config.toml", /config\.toml is a pipe, socket or device, not a regular file/],
  ];
  for (const [name, said] of files) {
    await makeFifo(home.file(name));
    for (const command of ["check", "serve"]) {
      const { code, stderr } = await home.runProcess([command]);
      expect({ name, command, code, stderr }).toEqual({
        name,
        command,
        code: 1,
        stderr: expect.stringMatching(said),
      });
    }
  }
});

story("a database file that is a FIFO is refused, and check does not wait for it", async () => {
  await using home = await newHome({}, "sqlite://node.db?mode=rwc");
  await makeFifo(home.file("node.db"));
  const { code, stderr } = await home.runProcess(["check"]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("is another kind of file") });
});

story("a stop does not wait for a reload whose database never answers", async () => {
  let connections = 0;
  using silent = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data() {},
      open() {
        connections++;
      },
    },
  });
  await using home = await newHome();
  const server = await home.serve();
  await home.configure(
    { databaseKeys: "timeout_ms = 600000" },
    `postgres://someone@127.0.0.1:${silent.port}/shop`,
  );
  server.signal("SIGHUP");
  await until("the reload waits for the database", () => connections > 0);
  const { code, stderr } = await within("the server stops", server.stop());
  expect(code).toBe(0);
  expect(stderr).not.toContain("config.refused");
});
