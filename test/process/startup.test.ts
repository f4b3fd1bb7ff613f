import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { newPostgresDatabase } from "../support/postgres.ts";
import { applied, newHome, type Settings, story } from "../support/process.ts";
import { boundByModes } from "../support/tools.ts";

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

story("a start names the absolute paths of configuration, database and files, and no password", async () => {
  await using home = await newHome();
  const server = await home.serve();
  expect(server.stderr).toContain(
    ` INFO server: database opened config=${home.configPath} database=${home.file("data/node.db")} static_path=${home.file("static")}\n`,
  );
  const database = await newPostgresDatabase();
  const { host, pathname } = new URL(database.url);
  await home.configure({}, database.url.replace("postgres@", "postgres:hunter2@"));
  await home.run(["init"]);
  expect(await server.reload()).toMatchObject(applied("database"));
  expect(server.stderr).toContain(` database=${host}${pathname} `);
  expect(server.stderr).not.toContain("hunter2");
  await server.stop();
  await database.drop();
});

story("a listener's address that the machine does not have is named, with what to use instead", async () => {
  await using home = await newHome({ top: 'ws_listener = "203.0.113.1:0"' });
  const { code, stderr } = await home.run(["serve"]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "cannot listen on 203.0.113.1:0: this machine has no address 203.0.113.1; use 0.0.0.0 for all of its addresses, or one of its own, in ws_listener\n",
  );
});

story("roll-super-token without a database makes none and names the path", async () => {
  await using home = await newHome();
  const sqlite = await home.run(["roll-super-token", "--yes"]);
  expect(sqlite).toMatchObject({ code: 1, stdout: "" });
  expect(sqlite.stderr).toContain(`the database ${home.file("data/node.db")} does not exist`);
  expect(await readdir(home.path)).toEqual(["config.toml"]);
  const empty = await newPostgresDatabase();
  await home.configure({}, empty.url);
  const postgres = await home.run(["roll-super-token", "--yes"]);
  expect(postgres).toMatchObject({ code: 1, stdout: "" });
  expect(postgres.stderr).toMatch(/the database 127\.0\.0\.1:\d+\/t_\w+ is empty; /);
  // Still without a table.
  expect((await home.run(["check", "--connect"])).stdout).toMatch(/ is empty; the first start fills it\.\n/);
  await empty.drop();
});

interface Unusable {
  readonly what: string;
  readonly settings: Settings;
  readonly says: RegExp;
}

const unusable: readonly Unusable[] = [
  {
    what: "a certificate that is not there",
    settings: { top: 'tls_cert = "no.pem"\ntls_key = "no.key"' },
    says: /toml:2:12: tls_cert: the certificate \S+\/no\.pem does not exist; put it there, or name another file in tls_cert\n/,
  },
  {
    what: "a certificate that is none",
    settings: { top: 'tls_cert = "plain"\ntls_key = "plain"' },
    says: /toml:2:12: tls_cert: \S+\/plain is not a PEM certificate|toml:3:11: tls_key: \S+\/plain is not a PEM/,
  },
  {
    what: "a folder for buckets that is a file",
    settings: { top: 'static_path = "plain"' },
    says: /toml:2:15: static_path: \S+\/plain is a file, not a folder/,
  },
  {
    what: "a folder for buckets that cannot be created",
    settings: { top: 'static_path = "/proc/nope"' },
    says: /toml:2:15: static_path: \/proc (is a folder of the kernel|cannot be written)/,
  },
  {
    what: "a log file below a file",
    settings: { logging: 'json_log_file = "plain/node.log"' },
    says: /toml:4:17: logging\.json_log_file: the log file \S+\/plain\/node\.log cannot be opened: \S+\/plain is a file/,
  },
  {
    what: "a socket below a file",
    settings: { top: 'enable_unix_socket = true\nunix_socket_path = "plain/node.sock"' },
    says: /toml:3:20: unix_socket_path: the socket \S+\/plain\/node\.sock cannot be created: \S+\/plain is a file/,
  },
];

for (const { what, settings, says } of unusable)
  story(`check and serve refuse ${what}, before a database or a Super Token is made`, async () => {
    await using home = await newHome(settings);
    await writeFile(home.file("plain"), "x");
    const [checked, served] = [await home.run(["check"]), await home.run(["serve"])];
    expect(checked).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(says) });
    expect(served).toEqual(checked);
    expect((await readdir(home.path)).sort()).toEqual(["config.toml", "plain"]);
  });

story("check --connect says what it found and makes nothing", async () => {
  await using home = await newHome();
  const connect = async () => (await home.run(["check", "--connect"])).stdout.split("\n")[0];
  const path = home.file("data/node.db");
  expect(await connect()).toBe(`The database ${path} does not exist yet; the first start creates it.`);
  expect(await readdir(home.path)).toEqual(["config.toml"]);
  await home.run(["init"]);
  expect(await connect()).toBe(`The database ${path} can be used.`);
  expect(await readdir(home.file("data"))).toEqual(["node.db"]);
  const server = await home.serve();
  expect(await connect()).toBe(`The database ${path} can be used.`);
  await server.stop();
  await home.configure({}, "postgres://node:hunter2@127.0.0.1:1/node");
  const refused = await home.run(["check", "--connect"]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:1\/node cannot be reached/);
  expect(refused.stderr).not.toContain("hunter2");
});

async function forbid(path: string, mode: number): Promise<void> {
  if (isRoot) await chown(path, nobody, nobody);
  await chmod(path, mode);
}

story("a database that can be read and not written is refused with owner, mode and what to do", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  for (const [name, mode] of [
    ["data/node.db", 0o444],
    ["data", 0o555],
  ] as const) {
    await using home = await newHome();
    await home.run(["init"]);
    await forbid(home.file(name), mode);
    for (const args of [["serve"], ["check"], ["roll-super-token", "--yes"]]) {
      const { code, stdout, stderr } = await home.run(args, how);
      expect({ name, args, code, stdout }).toEqual({ name, args, code: 1, stdout: "" });
      const file = home.file("data/node.db");
      const folder = name === "data" ? ` cannot be written: ${home.file(name)}` : "";
      expect(stderr).toContain(
        `toml:6:16: database.database_url: the database ${file}${folder} cannot be written: it belongs to `,
      );
      expect(stderr).toContain(` with mode 0${mode.toString(8)}, and this runs as `);
      expect(stderr).toMatch(/; (run this as \w+ \(`sudo -u \w+`\), or )?run `ch(own (-R )?\w+|mod u\+w) /);
    }
    await chmod(home.file(name), 0o755);
  }
});

story(
  "a configuration that cannot be read is refused with its path, owner, mode and what to do",
  async () => {
    const how = boundByModes();
    if (how === undefined) return;
    await using home = await newHome();
    await forbid(home.configPath, 0o000);
    for (const args of [["serve"], ["check"], ["init"]]) {
      const { code, stdout, stderr } = await home.run(args, how);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toContain(
        `node-server: the configuration ${home.configPath} cannot be read: it belongs to `,
      );
      expect(stderr).toMatch(
        / with mode 0000, and this runs as \w+; (run this as \w+ \(`sudo -u \w+`\), or )?run `ch(own \w+|mod u\+r) \/\S+\/config\.toml`\n$/,
      );
    }
  },
);

story("a default static_path that cannot be written is not blamed on the first line", async () => {
  await using home = await newHome();
  await writeFile(home.file("static"), "a file");
  const { code, stderr } = await home.run(["check"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `node-server: config.toml: static_path: ${home.file("static")} is a file, not a folder; name another path; it is the default, because static_path is not set\n`,
  });
});

story("a folder that cannot be written is refused for buckets and logs", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using home = await newHome({
    top: 'static_path = "shut/static"\nbackup_dir = "shut/backup"',
    logging: 'json_log_file = "shut/logs/node.log"',
  });
  await mkdir(home.file("shut"));
  await forbid(home.file("shut"), 0o555);
  const { code, stderr } = await home.run(["serve"], how);
  expect(code).toBe(1);
  const commands = [...stderr.matchAll(/ does not exist, and \w+ may not create it; run `([^`]+)`/g)];
  const [, user] = / -o (\w+) /.exec(stderr) ?? [];
  expect(commands.map(([, command]) => command)).toEqual([
    `install -d -o ${user} -m 750 ${home.file("shut/static")}`,
    `install -d -o ${user} -m 700 ${home.file("shut/backup")}`,
    `install -d -o ${user} -m 750 ${home.file("shut/logs")}`,
  ]);
  expect(existsSync(home.file("data"))).toBe(false);
  await chmod(home.file("shut"), 0o755);
});

story(
  "init --listen writes the address into a new configuration, and never into one that exists",
  async () => {
    await using home = await newHome();
    await rm(home.configPath, { force: true });
    const usage = await home.run(["init", "--listen", "everywhere"]);
    expect([usage.code, usage.stderr]).toEqual([2, expect.stringContaining("ip:port or host:port")]);
    expect(existsSync(home.configPath)).toBe(false);
    expect(await home.run(["init", "--listen", "0.0.0.0:4711"])).toMatchObject({ code: 0 });
    expect(await readFile(home.configPath, "utf8")).toContain('\nws_listener = "0.0.0.0:4711"\n');
    const again = await home.run(["init", "--listen", "0.0.0.0:4712"]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("change ws_listener there")]);
  },
);
