import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { exitCodes } from "../../src/cli/command.ts";
import { tempFolder } from "../support/node.ts";
import { buildBinary, buildMs, install, removeBinary, run, source, updating } from "../support/service.ts";
import { openTool } from "../support/tools.ts";

beforeAll(buildBinary, buildMs);
afterAll(removeBinary);

/** The unit as systemd understands it, with all that it complains of; undefined, and told, where it is missing. */
async function asSystemdReads(unit: string) {
  const path = Bun.which("systemd-analyze");
  if (path === null) {
    console.log("note: unit files are not held against systemd, because systemd-analyze is not here");
    return undefined;
  }
  await using systemd = await openTool(path);
  await writeFile(join(systemd.home, "node-server-test.service"), unit);
  const verify = ["verify", "--man=no", "--recursive-errors=no", "node-server-test.service"];
  const { code, stderr } = await systemd.run(verify);
  const { stdout } = await systemd.run(verify, { env: { SYSTEMD_LOG_LEVEL: "debug" } });
  const values = (name: string) =>
    [...stdout.matchAll(new RegExp(`^\\s+${name}: (.*)$`, "gm"))].map(([, value]) => value);
  return { code, stderr, values };
}

test("the unit is shown without a change to the disk, and runs the binary with its configuration", async () => {
  await using server = await install();
  const { code, stdout, stderr } = await server.service(["install", "--print", "--dir", server.units]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^(note: .+\n)*$/)]);
  expect((await readdir(server.folder)).sort()).toEqual(["bin", "etc"]);
  // The unit has a temporary folder of its own.
  expect(stderr.includes("its own temporary folder")).toBe(server.folder.startsWith("/tmp/"));
  const lines = stdout.split("\n");
  for (const line of [
    "[Unit]",
    "[Service]",
    "Type=notify",
    "User=daemon",
    `WorkingDirectory=${join(server.folder, "etc")}`,
    `ExecStart="${server.program}" serve -c "${server.config}"`,
    "ExecReload=/bin/kill -HUP $MAINPID",
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "[Install]",
    "WantedBy=multi-user.target",
  ])
    expect(lines).toContain(line);
  // A database or a store that is away at boot may come back at any time.
  const [head = "", service = ""] = stdout.split("[Service]");
  expect(head).toContain("\nStartLimitIntervalSec=0\n");
  expect(service).toContain(
    `\nRestart=on-failure\nRestartSec=2\nRestartPreventExitStatus=${exitCodes.usage}\n`,
  );
  const named = await server.service(["install", "--print", "--user", "nobody"]);
  expect(named.stdout).toContain("\nUser=nobody\n");
});

test("systemd has nothing against the unit, and lets the server write where its files and its binary are", async () => {
  await using server = await install({ top: updating });
  const { stdout } = await server.service(["install", "--print", "--user", "daemon"]);
  const read = await asSystemdReads(stdout);
  if (read === undefined) return;
  expect({ code: read.code, stderr: read.stderr }).toEqual({ code: 0, stderr: "" });
  expect(read.values("WorkingDirectory")).toEqual([join(server.folder, "etc")]);
  expect(read.values("ReadWritePaths")).toEqual([`${server.folder}/etc ${server.folder}/bin`]);
});

/** Folders whose names mean something in a unit file. */
const awkward: readonly (readonly [string, string, string])[] = [
  ["a space", "my bin", "my etc"],
  ["a percent sign", "100%n", "50%h"],
  ["a dollar sign", "b$HOME", "e$MAINPID"],
  // systemd runs no program whose path has quotes in it.
  ["quotes and backslashes", "bin", `e"t'\\c`],
];

for (const [what, bin, etc] of awkward)
  test(`systemd finds the binary and the configuration in folders with ${what} in their names`, async () => {
    await using server = await install({ bin, etc, top: updating });
    const { code, stdout } = await server.service(["install", "--print", "--user", "daemon"]);
    expect(code).toBe(0);
    const read = await asSystemdReads(stdout);
    if (read === undefined) return;
    // It checks that the program is there.
    expect({ code: read.code, stderr: read.stderr }).toEqual({ code: 0, stderr: "" });
    expect(read.values("WorkingDirectory")).toEqual([join(server.folder, etc)]);
    expect(read.values("ReadWritePaths")).toEqual([
      `${join(server.folder, etc)} ${join(server.folder, bin)}`,
    ]);
    // Shown as a shell would read it, with a dollar doubled that is to stay one.
    const shown = (text: string) => text.replace(/[\\"$]/g, "\\$&");
    const command = read
      .values("Command Line")[0]
      ?.replaceAll('"/', "/")
      .replaceAll(/(node-server|toml)"/g, "$1");
    expect(command).toBe(
      `${shown(server.program)} serve -c ${shown(server.config).replaceAll("\\$", "\\$\\$")}`,
    );
  });

test("without a start the unit is written, readable for all, and uninstall removes it and nothing else", async () => {
  await using server = await install();
  const place = ["--no-start", "--dir", server.units];
  const shown = await server.service(["install", "--print"]);
  const written = await server.service(["install", ...place]);
  expect(written).toMatchObject({ code: 0, stdout: `wrote ${server.units}/node-server.service\n` });
  expect(await readdir(server.units)).toEqual(["node-server.service"]);
  const path = join(server.units, "node-server.service");
  expect(await readFile(path, "utf8")).toBe(shown.stdout);
  expect((await stat(path)).mode & 0o777).toBe(0o644);

  expect((await server.service(["install", ...place, "--name", "second"])).code).toBe(0);
  expect((await server.service(["install", ...place])).code).toBe(0);
  expect((await readdir(server.units)).sort()).toEqual(["node-server.service", "second.service"]);
  const removed = await server.service(["uninstall", ...place]);
  expect(removed).toMatchObject({ code: 0, stderr: "" });
  expect(removed.stdout).toContain(`removed ${path}`);
  expect(await readdir(server.units)).toEqual(["second.service"]);
  expect([existsSync(server.config), existsSync(server.program)]).toEqual([true, true]);
  const again = await server.service(["uninstall", ...place]);
  expect(again).toMatchObject({ code: 1, stdout: "", stderr: `node-server: ${path} does not exist\n` });
});

test("in a folder that systemd does not read the unit is only written and removed, and the live service left alone", async () => {
  await using server = await install();
  const [place, tools] = [["--dir", `${server.units}/`], join(server.folder, "tools")];
  await mkdir(tools);
  const called = join(server.folder, "called");
  await writeFile(join(tools, "systemctl"), `#!/bin/sh\necho "$@" >> '${called}'\n`, { mode: 0o755 });
  const how = { env: { PATH: `${tools}:${process.env.PATH}` } };
  const path = join(server.units, "node-server.service");
  const written = await server.service(["install", ...place], how);
  expect(written).toMatchObject({ code: 0, stdout: `wrote ${path}\n` });
  const unread = `note: systemd does not read ${server.units}; the unit was only`;
  expect(written.stderr).toContain(`${unread} written\n`);
  expect(existsSync(path)).toBe(true);
  const removed = await server.service(["uninstall", ...place], how);
  expect(removed).toMatchObject({ code: 0, stderr: `${unread} removed\n` });
  expect(existsSync(path)).toBe(false);
  expect(existsSync(called)).toBe(false);
});

test("root is no user for a server unless somebody says so", async () => {
  await using server = await install();
  const place = ["install", "--no-start", "--dir", server.units];
  const asRoot = { env: { SUDO_USER: "root" } };
  const refused = await server.service(place, asRoot);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^node-server: the server should not run as root: .*--user.*\n$/);
  expect(existsSync(server.units)).toBe(false);
  expect((await server.service([...place, "--user", "root"], asRoot)).code).toBe(0);
  expect(await readFile(join(server.units, "node-server.service"), "utf8")).toContain("\nUser=root\n");
});

test("a name that leads elsewhere is none", async () => {
  await using server = await install();
  for (const name of ["../evil", "a/b", "", "a b", "a\nb", "x".repeat(65)]) {
    const place = ["--no-start", "--dir", server.units, "--name", name];
    for (const verb of ["install", "uninstall"]) {
      const { code, stderr } = await server.service([verb, ...place]);
      expect([name, code, stderr]).toEqual([
        name,
        1,
        expect.stringContaining("is not a valid name for a service"),
      ]);
    }
  }
  expect((await readdir(server.folder)).sort()).toEqual(["bin", "etc"]);
});

/** One line for the operator, not a stack trace. */
function expectWords({ code, stderr }: { code: number; stderr: string }): void {
  expect(code).toBe(1);
  expect(stderr).toMatch(/^node-server: .*\n$/);
  expect(stderr).not.toContain("this is a bug");
}

test("a folder for units that cannot be written to is told in words", async () => {
  await using server = await install();
  await writeFile(join(server.folder, "file"), "");
  for (const dir of ["file", "file/units", "/proc/self/fdinfo"])
    expectWords(await server.service(["install", "--no-start", "--dir", resolve(server.folder, dir)]));
});

test("a configuration that is nowhere is told in words, and no unit is written for it", async () => {
  await using server = await install();
  const config = join(server.folder, "no/where.toml");
  expectWords(
    await run([server.program, "service", "install", "--no-start", "--dir", server.units, "-c", config]),
  );
  expect(existsSync(join(server.units, "node-server.service"))).toBe(false);
});

test("from source there is nothing to install", async () => {
  await using folder = await tempFolder();
  const units = join(folder.path, "units");
  for (const how of [["--print"], ["--no-start", "--dir", units]]) {
    const { code, stdout, stderr } = await run([process.execPath, source, "service", "install", ...how], {
      cwd: folder.path,
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^node-server: the service runs the compiled binary; .*\n$/);
  }
  expect(await readdir(folder.path)).toEqual([]);
});
