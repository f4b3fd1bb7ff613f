import { expect } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { newHome, story } from "../support/process.ts";

const secretOf = (token: string) => token.split(/[:|]/)[1] ?? "";

eachDatabase("no secret and no password is in any output or log, even at trace", async (kind) => {
  await using home = await newHome();
  const database = await newDatabase(kind, home.path);
  const url = database.url.replace("postgres@", "postgres:hunter2-of-the-database@");
  const settings = {
    logging:
      'json_log_file = "node.log"\njson_log_filter = "trace"\nmemory_log_filter = "trace"\nmemory_log_capacity = 10000',
  };
  await home.configure(settings, url);
  const server = await home.serve({ env: { RUST_LOG: "trace" } });
  const { superToken, rootPassword } = server;
  const limit = { scopes: ["global"], permissions: [{ token: "create" }] };
  const creation = { token_limit: [limit], username: "ada", password: "hunter2-of-ada" };
  const made = (await server.call("token_create", [superToken, creation])) as {
    key: string;
    secret: string;
  };
  const wrongOnes = ["ada|hunter2-guessed", `${made.key}:hunter2-guessed`, "hunter2-without-separator"];
  for (const token of [
    `${made.key}:${made.secret}`,
    "ada|hunter2-of-ada",
    `root|${rootPassword}`,
    ...wrongOnes,
  ]) {
    await server.send("token_get", { token });
    await server.send("token_list_all_tokens", { token });
    await server.send("token_create", [token, { token_limit: "nonsense", password: "hunter2-in-vain" }]);
  }
  await server.call("token_change_password", [superToken, "ada", "hunter2-renewed"]);
  const rolled = (await server.call("token_roll_token_secret", [superToken, "ada"])) as { secret: string };
  const commandLine = await home.runProcess(["roll-super-token", "--yes"], { env: { RUST_LOG: "trace" } });
  const [, freshToken = "", freshPassword = ""] =
    /^Super Token: (\S+)\nRoot Password: (\S+)\n$/.exec(commandLine.stdout) ?? [];
  await home.configure({ ...settings, databaseKeys: "timeout_ms = 1000" }, url);
  await server.reload();
  const remembered = JSON.stringify(await server.call("node-server_log", [freshToken]));
  const ended = await server.stop();

  const told = {
    stdout: ended.stdout.replace(`Super Token: ${superToken}\nRoot Password: ${rootPassword}\n`, ""),
    stderr: ended.stderr,
    commandLine: commandLine.stderr,
    remembered,
    file: await readFile(home.file("node.log"), "utf8"),
  };
  expect(told.stdout).toBe("");
  for (const text of [told.stderr, told.remembered, told.file]) expect(text).toMatch(/insert into/i);
  const secrets = [superToken, freshToken].map(secretOf);
  secrets.push(rootPassword, freshPassword, made.secret, rolled.secret, "hunter2");
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(6);
    for (const [where, text] of Object.entries(told)) {
      expect([where, text.split("\n").find((line) => line.includes(secret))]).toEqual([where, undefined]);
    }
  }
  await database.drop();
});

const addresses: ReadonlyArray<[what: string, url: (port: number) => string]> = [
  ["plain", (port) => `postgres://node:hunter2@127.0.0.1:${port}/node`],
  ["with an encoded password", (port) => `postgres://node:%68unter2%2F@127.0.0.1:${port}/node`],
  ["with the password as a parameter", (port) => `postgres://node@127.0.0.1:${port}/node?password=hunter2`],
  ["with a slash in the password", () => "postgres://node:a/hunter2@127.0.0.1/node"],
  // Read as a URL, this password is a port and the beginning of a path.
  ["with a slash after digits in the password", () => "postgres://localhost:1/hunter2@127.0.0.1:5432/node"],
  // The first part of this password would be the host.
  ["with an at sign and a slash in the password", () => "postgres://node:p@hunter2/w#rd@127.0.0.1/node"],
  ["with a hash in the password", () => "postgres://localhost:1#hunter2@127.0.0.1:5432/node"],
];

for (const [what, url] of addresses) {
  story(
    `the password in a database_url ${what} is not told when the database cannot be reached`,
    async () => {
      await using home = await newHome({ databaseKeys: "timeout_ms = 1000" }, url(await freePort()));
      for (const args of [["serve"], ["check"]]) {
        const { stdout, stderr } = await home.runProcess(args, { env: { RUST_LOG: "trace" } });
        expect(stdout + stderr).not.toMatch(/[h%68]unter2/);
        expect(stderr).not.toContain("this is a bug");
      }
    },
  );
}

story("the password in a database_url is not told when its line is broken", async () => {
  await using home = await newHome();
  for (const line of [
    'database_url = "postgres://node:hunter2@db/node',
    "database_url = postgres://node:hunter2@db/node",
    'database_url = "mysql://node:hunter2@db/node"',
    'database_url = ["postgres://node:hunter2@db/node"]',
  ]) {
    await writeFile(home.configPath, `ws_listener = "127.0.0.1:0"\n[database]\n${line}\n`);
    const { code, stdout, stderr } = await home.run(["serve"], { env: { RUST_LOG: "trace" } });
    expect([line, code, stdout]).toEqual([line, 1, ""]);
    expect(stderr).toContain("config.toml:3:");
    expect(stderr).not.toContain("hunter2");
  }
});
