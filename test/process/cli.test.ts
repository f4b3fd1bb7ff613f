import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { Home, newHome, story } from "../support/process.ts";

const commands = ["serve", "init", "roll-super-token", "get-uuid", "version", "check"];

story("help names every command, on stdout, and ends well", async () => {
  await using home = await Home.open();
  const answers = await Promise.all([["help"], ["--help"], ["-h"]].map((args) => home.run(args)));
  for (const { code, stdout, stderr } of answers) {
    expect(code).toBe(0);
    expect(stderr).toBe("");
    for (const command of commands) expect(stdout).toContain(`\n  ${command} `);
    expect(stdout).toContain("-c, --config <path>");
    // In groups, for people who use a server and for those who run one.
    const heads = [...stdout.matchAll(/^(\S.*):$/gm)].map(([, head]) => head);
    expect(heads.slice(1, -1)).toEqual([
      "Sites and files",
      "Servers",
      "Run a server on this machine",
      "About this program",
    ]);
  }
  expect(await readdir(home.path)).toEqual([]);
});

story("help tells about one command", async () => {
  await using home = await Home.open();
  const { code, stdout } = await home.run(["help", "roll-super-token"]);
  expect(code).toBe(0);
  expect(stdout).toContain("--yes");
});

story("wrong usage ends with 2, and stderr says what was wrong and which help to read", async () => {
  await using home = await Home.open();
  const wrong = [
    [],
    ["srve"],
    ["serve", "--port", "1"],
    ["--nonsense", "version"],
    ["version", "superfluous"],
    ["check", "-c"],
  ];
  const answers = await Promise.all(wrong.map((args) => home.run(args)));
  for (const [at, { code, stdout, stderr }] of answers.entries()) {
    expect([wrong[at], code, stdout]).toEqual([wrong[at], 2, ""]);
    if (wrong[at]?.length === 0) expect(stderr).toContain("Usage: node-server");
    else
      expect(stderr).toMatch(
        /^node-server: .+\n(\(Did you mean .+\n)?see `node-server( serve| version| check)? --help`\n$/,
      );
  }
  expect(await readdir(home.path)).toEqual([]);
});

story("a misspelt command of a group is named, with the one that was probably meant", async () => {
  await using home = await Home.open();
  const wrong = [
    [["buckets", "lst"], "unknown command 'lst'; did you mean list?", "buckets"],
    [["tokens", "rol", "x"], "unknown command 'rol'; did you mean roll?", "tokens"],
    [["servers", "--json", "us"], "unknown command 'us'; did you mean use?", "servers"],
    [["tokens", "qqqqqq"], "unknown command 'qqqqqq'", "tokens"],
    [["buckets", "list", "x"], "too many arguments for 'list': it takes none", "buckets"],
  ] as const;
  for (const [args, says, group] of wrong)
    expect(await home.run(args)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `node-server: ${says}\nsee \`node-server ${group} --help\`\n`,
    });
});

story("a tag of a wrong form is wrong usage, whether or not there is a configuration", async () => {
  await using home = await Home.open();
  const { code, stdout, stderr } = await home.run(["update", "--tag", "0.2.0"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe(
    "node-server: --tag must read vX.Y.Z, such as v1.2.3\nsee `node-server update --help`\n",
  );
});

story("--version and -V print the version alone", async () => {
  await using home = await Home.open();
  for (const option of ["--version", "-V"]) {
    const { code, stdout } = await home.run([option]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  }
});

story("version is one line, and the whole record as JSON", async () => {
  await using home = await Home.open();
  const [line, json] = await Promise.all([
    home.runProcess(["version"]),
    home.runProcess(["version", "--json"]),
  ]);
  expect(line).toMatchObject({ code: 0, stderr: "" });
  expect(line.stdout).toMatch(/^node-server \d+\.\d+\.\d+ \(.+\)\n$/);
  expect(json).toMatchObject({ code: 0, stderr: "" });
  const record = JSON.parse(json.stdout) as Record<string, unknown>;
  expect(Object.keys(record).sort()).toEqual([
    "binary_type",
    "build_time",
    "cargo_target_triple",
    "cargo_version",
    "git_branch",
    "git_commit_date",
    "git_commit_message",
    "git_commit_sha",
    "rustc_channel",
    "rustc_commit_date",
    "rustc_commit_hash",
    "rustc_llvm_version",
    "rustc_version",
  ]);
  for (const value of Object.values(record)) expect(value).toEqual(expect.stringMatching(/./));
  expect(line.stdout).toContain(` ${record.cargo_version} `);

  await home.configure();
  const server = await home.serve();
  expect(await server.call("node-server_version")).toEqual(record);
});

story("the configuration is named before or after the command, short or long", async () => {
  await using home = await newHome();
  await mkdir(home.file("etc"));
  await rename(home.configPath, home.file("etc/mine.toml"));
  const spelled = [
    ["-c", "etc/mine.toml", "check"],
    ["check", "-c", "etc/mine.toml"],
    ["--config", "etc/mine.toml", "check"],
    ["check", "--config=etc/mine.toml"],
  ];
  for (const { code, stdout, stderr } of await Promise.all(spelled.map((args) => home.run(args)))) {
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "etc/mine.toml is a valid configuration.\n",
      stderr: "",
    });
  }
  expect(await home.run(["init", "-c", "etc/mine.toml"])).toMatchObject({ code: 0 });
  const server = await home.launch({}, ["-c", "etc/mine.toml", "serve"]).ready();
  const told = await home.run(["get-uuid", "--config", "etc/mine.toml"]);
  expect(told.stdout).toBe(`${await server.call("node-server_uuid")}\n`);
  expect(existsSync(home.configPath)).toBe(false);
});

story("a first serve without a configuration writes the commented default", async () => {
  await using home = await Home.open();
  const server = home.launch();
  // Another program may have the default port on this machine; the address is named either way.
  await server.says(/(listening on http:\/\/|cannot listen on )127\.0\.0\.1:2211/);
  expect((await stat(home.configPath)).mode & 0o777).toBe(0o600);
  const text = await Bun.file(home.configPath).text();
  expect(text).toContain('\nws_listener = "127.0.0.1:2211"\n');
  expect(text).toContain('\ndatabase_url = "sqlite://data/node.db?mode=rwc"\n');
  expect(text).toContain("\n# jsonrpc_max_connections = 100\n");
  expect(server.stderr).toContain(`node-server: wrote a default configuration to ${home.configPath}\n`);
  expect(server.stderr).not.toContain("WARN");
  expect((await home.run(["check"])).stderr).toBe("");
});

story("commands that need a configuration say so when there is none, and make nothing", async () => {
  await using home = await Home.open();
  for (const args of [["check"], ["get-uuid"], ["roll-super-token", "--yes"]]) {
    expect(await home.run(args)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `node-server: ${home.configPath} does not exist; name the configuration with -c, or create one with \`node-server init\`\n`,
    });
  }
  expect(await readdir(home.path)).toEqual([]);
});
