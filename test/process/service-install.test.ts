import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../support/node.ts";
import { buildBinary, buildMs, install, removeBinary, run, updating } from "../support/service.ts";

beforeAll(buildBinary, buildMs);
afterAll(removeBinary);

test("the user is found by its number where the environment names none", async () => {
  await using server = await install();
  const bare = { env: { USER: "unknown" }, unset: ["SUDO_USER", "USER"] };
  const { code, stdout, stderr } = await server.service(["install", "--print"], bare);
  const uid = process.getuid?.();
  if (uid === 0) {
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^node-server: the server should not run as root: /);
  } else expect(stdout).toContain(`\nUser=${(await run(["id", "-un"])).stdout.trim()}\n`);
});

test("a user that does not exist is refused, by option and by sudo", async () => {
  await using server = await install();
  for (const [args, env] of [
    [["--user", "nosuch"], {}],
    [[], { SUDO_USER: "nosuch" }],
  ] as const)
    for (const how of [["--print"], ["--no-start", "--dir", server.units]]) {
      const { code, stdout, stderr } = await server.service(["install", ...how, ...args], { env });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(
        /^node-server: there is no user nosuch on this machine; create one with `useradd --system nosuch`/,
      );
    }
  expect(existsSync(server.units)).toBe(false);
});

test("the server may write to every folder that its configuration names, and to its binary's only for updates", async () => {
  await using place = await tempFolder();
  const [files, logs, sockets] = ["files", "logs", "run"].map((name) => join(place.path, name));
  const settings = {
    top: `static_path = "${files}"\nenable_unix_socket = true\nunix_socket_path = "${sockets}/node.sock"`,
    logging: `json_log_file = "${logs}/node.log"`,
  };
  await using server = await install(settings);
  const shown = await server.service(["install", "--print"]);
  const etc = join(server.folder, "etc");
  expect(shown.stdout).toContain(`\nReadWritePaths="${etc}" "${sockets}" "${files}" "${logs}"\n`);
  expect(shown.stdout).toContain("\nTimeoutStopSec=30\n");
  await using updated = await install({
    ...settings,
    top: `${settings.top}\ndrain_seconds = 20\n${updating}`,
    database: "sqlite://data/node.db?mode=rwc",
  });
  const more = await updated.service(["install", "--print"]);
  const [home, bin] = [join(updated.folder, "etc"), join(updated.folder, "bin")];
  expect(more.stdout).toContain(`\nReadWritePaths="${home}" "${sockets}" "${files}" "${logs}" "${bin}"\n`);
  expect(more.stdout).toContain("\nTimeoutStopSec=50\n");

  const unmade = await server.service(["install", "--no-start", "--dir", server.units]);
  expect(unmade).toMatchObject({ code: 1, stdout: "" });
  expect(unmade.stderr).toContain(
    `${sockets} must exist before the service; run \`install -d -o daemon -m 755 ${sockets}\``,
  );
  expect(existsSync(server.units)).toBe(false);
});

test("folders that the user cannot write to are named, with what fails and what to run", async () => {
  await using server = await install({ top: updating });
  const { code, stderr } = await server.service(["install", "--no-start", "--dir", server.units]);
  expect(code).toBe(0);
  const bin = join(server.folder, "bin");
  expect(stderr).toContain(
    `note: daemon cannot write to ${bin}, so self-update will fail; run \`chown daemon ${bin}\`\n`,
  );
});

test("files that the user cannot use are named also where their folder is its own, with one chown for all", async () => {
  await using server = await install({ database: "sqlite://data/node.db?mode=rwc", isMade: false });
  const etc = join(server.folder, "etc");
  await run([server.program, "init", "-c", server.config], { cwd: etc });
  await run(["chmod", "600", server.config]);
  await run(["chmod", "777", etc]);
  await run(["chmod", "755", server.folder]);
  const ways = [["--print"], ["--no-start", "--dir", server.units]];
  for (const how of ways) {
    const { code, stderr } = await server.service(["install", ...how]);
    expect([how, code]).toEqual([how, 0]);
    const lines = stderr.trimEnd().split("\n");
    expect(lines.slice(0, -1)).toContain(`note: daemon cannot read ${server.config}`);
    expect(lines.slice(0, -1)).toContain(`note: daemon cannot read ${join(etc, "config.link-key")}`);
    for (const path of ["data", "data/node.db"])
      expect(lines.slice(0, -1)).toContain(`note: daemon cannot write to ${join(etc, path)}`);
    const all = ["config.toml", "config.link-key", "data"].map((name) => join(etc, name)).join(" ");
    expect(lines.at(-1)).toBe(`note: run \`chown -R daemon ${all}\` before the service starts`);
  }
  // Only root can follow the advice; then it is enough.
  if (process.getuid?.() !== 0) return;
  await run([
    "chown",
    "-R",
    "daemon",
    ...["config.toml", "config.link-key", "data"].map((name) => join(etc, name)),
  ]);
  for (const how of ways) expect((await server.service(["install", ...how])).stderr).not.toContain("chown");
});

test("a first start under systemd is refused with the command that shows the Super Token on the terminal", async () => {
  await using server = await install({ isMade: false, etc: "my etc" });
  const place = ["install", "--no-start", "--dir", server.units];
  const refused = await server.service(place);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  const etc = join(server.folder, "my etc");
  const command = `${server.program} init -c '${server.config}'`;
  expect(refused.stderr).toContain(`the database ${etc}/node.db does not exist`);
  expect(refused.stderr).toContain(`Run this first, which shows it here: sudo -u daemon ${command}\n`);
  expect(existsSync(server.units)).toBe(false);
  const made = await run(["sh", "-c", command], { cwd: etc });
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Super Token: /) });
  expect((await server.service(place)).code).toBe(0);
});

test("settings of the environment are not the service's, and install says so", async () => {
  await using server = await install();
  const env = { NODE_SERVER_DATABASE_URL: "postgres://node:hunter2@127.0.0.1:1/node" };
  const { code, stdout, stderr } = await server.service(["install", "--print"], { env });
  expect(code).toBe(0);
  expect(stderr).toContain(
    "note: NODE_SERVER_DATABASE_URL is set here, but not for the service; write database_url into the configuration, or the variable into the unit with `systemctl edit node-server`\n",
  );
  expect(stdout + stderr).not.toContain("hunter2");
});

test("without systemd nothing is written, and the ways to go on are named", async () => {
  // Elsewhere a service would be started.
  if (existsSync("/run/systemd/system")) return;
  await using server = await install();
  const named = ["--name", `node-server-test-${process.pid}`];
  const { code, stdout, stderr } = await server.service(["install", ...named]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    "node-server: systemd does not run on this machine; `--no-start` works on the unit file alone, and `node-server serve` runs the server without a service\n",
  );
  expect(existsSync(`/etc/systemd/system/${named[1]}.service`)).toBe(false);
  expect((await server.service(["uninstall", ...named])).stderr).toBe(stderr);
});

test("uninstall offers only what it uses", async () => {
  await using server = await install();
  const { stdout } = await server.service(["uninstall", "--help"]);
  expect(stdout).toContain("--no-start");
  for (const other of ["--user", "--print"]) {
    expect(stdout).not.toContain(other);
    expect((await server.service(["uninstall", other, "x"])).code).toBe(2);
  }
});

test("a service of several processes says so in its unit, and needs a database and a store that they can share", async () => {
  await using plain = await install();
  const refused = await plain.service(["install", "--print", "--processes", "2"]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(
    /database\.database_url: names a SQLite file, which only one process can use/,
  );
  expect(refused.stderr).toMatch(/files\.url: means plain files/);
  expect((await plain.service(["install", "--print", "--processes", "many"])).code).toBe(2);
  await using shared = await install({
    database: "postgres://node@127.0.0.1:1/node",
    files:
      'url = "s3://bucket/prefix"\nendpoint = "http://127.0.0.1:1"\naccess_key_id = "k"\nsecret_access_key = "s"',
  });
  const { code, stdout, stderr } = await shared.service(["install", "--print", "--processes", "auto"]);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  expect(stdout).toMatch(/\nExecStart="\S+" serve -c "\S+" --processes auto\n/);
});
