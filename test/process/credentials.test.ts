import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { Home, newHome, type Server, story } from "../support/process.ts";

const twoLines = /^Super Token: [A-Za-z0-9]{16}:[A-Za-z0-9]{32}\nRoot Password: [A-Za-z0-9]{32}\n$/;

function readCredentials(stdout: string) {
  const [, token = "", password = ""] = /^Super Token: (\S+)\nRoot Password: (\S+)\n$/.exec(stdout) ?? [];
  return { token, password: `root|${password}` };
}

/** Whether the server takes this token text as the Super Token. */
async function isSuper(server: Server, token: string): Promise<boolean> {
  const { error } = await server.send("token_list_all_tokens", [token]);
  if (error !== undefined && error.message !== "Permission Denied: Super token required") {
    throw new Error(error.message);
  }
  return error === undefined;
}

story(
  "the first init shows the two credential lines and nothing else on stdout; the second shows none",
  async () => {
    await using home = await Home.open();
    const first = await home.runProcess(["init"]);
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(twoLines);
    for (const name of ["config.toml", "data/node.db"]) {
      expect([name, (await stat(home.file(name))).mode & 0o777]).toEqual([name, 0o600]);
    }
    const text = await readFile(home.configPath, "utf8");

    const second = await home.run(["init"]);
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 0, stdout: "" });
    expect(second.stderr).toMatch(/configuration \S+\/config\.toml exists/);
    expect(second.stderr).toMatch(/The database \S+\/data\/node\.db and its Super Token exist/);
    expect(await readFile(home.configPath, "utf8")).toBe(text);

    await home.configure();
    const server = await home.serve();
    expect(server.stdout).toBe("");
    const { token, password } = readCredentials(first.stdout);
    expect(await isSuper(server, token)).toBe(true);
    expect(await isSuper(server, password)).toBe(true);
  },
);

story(
  "the first start shows the credentials once and says where it listens; the second shows neither line",
  async () => {
    await using home = await newHome();
    const first = await home.serve();
    expect(first.stderr).toMatch(/^\S+ +INFO server: listening on http:\/\/127\.0\.0\.1:[1-9]\d*$/m);
    expect(await isSuper(first, first.superToken)).toBe(true);
    expect(await isSuper(first, `root|${first.rootPassword}`)).toBe(true);
    const { superToken, rootPassword } = first;
    const ended = await first.stop();
    expect(ended.stdout).toMatch(twoLines);
    expect(ended.stderr).toContain(`sign in to the console at ${first.url}/node/console/\n`);
    expect(ended.stderr.match(/listening on/g)).toHaveLength(1);
    for (const proof of [superToken.split(":")[1] ?? "", rootPassword])
      expect(ended.stderr).not.toContain(proof);

    const second = await home.serve();
    expect(await isSuper(second, superToken)).toBe(true);
    const again = await second.stop();
    expect(again.stdout).toBe("");
    expect(again.stderr).not.toMatch(/Super Token|Root Password/);
  },
);

story("NODE_SERVER_SUPER_TOKEN sets the Super Token and is echoed nowhere", async () => {
  await using home = await newHome({ logging: 'json_log_file = "node.log"\njson_log_filter = "trace"' });
  const given = "container:a-secret-of-the-deployment";
  const env = { NODE_SERVER_SUPER_TOKEN: given, RUST_LOG: "trace" };
  const server = await home.serve({ env });
  expect(await isSuper(server, given)).toBe(true);
  const ended = await server.stop();
  expect(ended.stdout).toBe("");
  for (const text of [ended.stderr, await readFile(home.file("node.log"), "utf8")]) {
    expect(text).not.toContain("a-secret-of-the-deployment");
  }
  const again = await home.serve({ env });
  expect((await again.stop()).stderr).not.toContain("is ignored");
  const changed = { NODE_SERVER_SUPER_TOKEN: "container:another-secret-0123456789" };
  const told =
    "NODE_SERVER_SUPER_TOKEN is ignored: the database has another Super Token; `node-server roll-super-token` makes a new one";
  expect((await home.run(["init"], { env: changed })).stderr).toContain(`\n${told}.\n`);
  const other = await home.serve({ env: changed });
  expect(other.stderr).toContain(` WARN server: ${told}\n`);
  expect(other.stderr).not.toContain("another-secret");
  expect(await isSuper(other, given)).toBe(true);
  expect(await isSuper(other, "container:another-secret-0123456789")).toBe(false);
});

story("init takes NODE_SERVER_SUPER_TOKEN too, with an empty stdout", async () => {
  await using home = await newHome();
  const given = "container:a-secret-of-the-deployment";
  const made = await home.run(["init"], { env: { NODE_SERVER_SUPER_TOKEN: given, RUST_LOG: "trace" } });
  expect({ code: made.code, stdout: made.stdout }).toEqual({ code: 0, stdout: "" });
  expect(made.stderr).not.toContain("a-secret-of-the-deployment");
  expect(await isSuper(await home.serve(), given)).toBe(true);
});

story(
  "a malformed NODE_SERVER_SUPER_TOKEN fails without being echoed, and the next start makes the token",
  async () => {
    await using home = await Home.open();
    const malformed = [
      "hunter2hunter2hunter2",
      "key:hunter2",
      "k|y:hunter2hunter2hunter2",
      "",
      ":hunter2hunter2hunter2",
      "key:hunter2hunter2|hunter2",
      "key:hunter2hunter2:hunter2",
    ];
    for (const [at, NODE_SERVER_SUPER_TOKEN] of malformed.entries()) {
      const command = at % 2 === 0 ? "serve" : "init";
      const env = { NODE_SERVER_SUPER_TOKEN, RUST_LOG: "trace" };
      const { code, stdout, stderr } = await home.run([command], { env });
      expect({ NODE_SERVER_SUPER_TOKEN, code, stdout }).toEqual({
        NODE_SERVER_SUPER_TOKEN,
        code: 1,
        stdout: "",
      });
      expect(stderr).toMatch(/^node-server: NODE_SERVER_SUPER_TOKEN must read <key>:<secret>.*$/m);
      expect(stderr).not.toContain("hunter2");
      expect(await readdir(home.path)).toEqual([]);
    }
    await home.configure();
    expect((await home.serve()).stdout).toMatch(twoLines);
  },
);

eachDatabase(
  "roll-super-token ends the old credentials of a running server at once; the new ones work",
  async (kind) => {
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    const server = await home.serve();
    const old = readCredentials(server.stdout);
    expect(await isSuper(server, old.password)).toBe(true);
    await using socket = await server.socket();
    expect(await socket.call("token_list_all_tokens", [old.token])).toHaveProperty("result");

    const rolled = await home.run(["roll-super-token", "--yes"]);
    expect(rolled).toMatchObject({ code: 0, stderr: "" });
    expect(rolled.stdout).toMatch(twoLines);
    const fresh = readCredentials(rolled.stdout);
    expect(await isSuper(server, old.token)).toBe(false);
    expect(await isSuper(server, old.password)).toBe(false);
    expect(await socket.call("token_list_all_tokens", [old.token])).toHaveProperty("error.code", 102);
    expect(await isSuper(server, fresh.token)).toBe(true);
    expect(await isSuper(server, fresh.password)).toBe(true);

    expect(await server.stop()).toMatchObject({ code: 0 });
    await database.drop();
  },
);

story("roll-super-token takes a yes on stdin; any other answer, or none, changes nothing", async () => {
  await using home = await newHome();
  const first = readCredentials((await home.run(["init"])).stdout);
  for (const stdin of ["no\n", "yes please\n", "\n", "nyes\n", ""]) {
    const { code, stdout } = await home.run(["roll-super-token"], { stdin });
    expect({ stdin, code, stdout }).toEqual({ stdin, code: 1, stdout: "" });
  }
  expect(await home.runProcess(["roll-super-token"])).toMatchObject({ code: 1, stdout: "" });
  const server = await home.serve();
  expect(await isSuper(server, first.token)).toBe(true);

  const confirmed = await home.runProcess(["roll-super-token"], { stdin: "yes\n" });
  expect(confirmed.code).toBe(0);
  expect(confirmed.stdout).toMatch(twoLines);
  expect(await isSuper(server, first.token)).toBe(false);
  expect(await isSuper(server, readCredentials(confirmed.stdout).token)).toBe(true);
});

story("roll-super-token without a yes does not even make a database", async () => {
  await using home = await newHome();
  expect(await home.run(["roll-super-token"], { stdin: "no\n" })).toMatchObject({ code: 1 });
  expect(existsSync(home.file("data"))).toBe(false);
});
