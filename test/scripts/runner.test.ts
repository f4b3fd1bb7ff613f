import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { tempFolder } from "../support/node.ts";
import { until, within } from "../support/until.ts";
import { changedTests, namedTests, testsOf, unknownNames } from "../tiers.ts";

const runner = resolve(import.meta.dir, "../../scripts/test.ts");
const preload = resolve(import.meta.dir, "../support/preload.ts");
const head =
  'import { expect, test } from "bun:test";\nimport { existsSync, renameSync, writeFileSync } from "node:fs";\n';
const passing = `${head}test("passes", () => {});`;
const failing = `${head}test("fails", () => expect(1).toBe(2));`;
const flaky = `${head}test("fails (once) & then passes", () => {
  const isSecond = existsSync("ran");
  writeFileSync("ran", "");
  expect([isSecond, process.env.TEST_TIME_FACTOR]).toEqual([true, "3"]);
});`;

/** Starts the runner on a project that has these tests and nothing else. */
async function start(project: string, tests: Record<string, string>, ...args: string[]) {
  for (const [file, text] of Object.entries(tests)) {
    const path = join(project, "test", file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return Bun.spawn([process.execPath, runner, ...args], {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: project, TMPDIR: project },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** The same, to its end. */
async function run(tests: Record<string, string>, ...args: string[]) {
  await using project = await tempFolder();
  const child = await start(project.path, tests, ...args);
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}

test("the runner passes when every story does, and ends with counts and processor time", async () => {
  const { code, stdout } = await run({ "a/one.test.ts": passing, "b/two.test.ts": passing });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^0:\d\d minutes, (at least )?\d+ s of processor time\n2 passed, 0 failed\n$/m);
});

test("a story that fails twice is a failure in every tier", async () => {
  for (const tier of ["fast", "all"]) {
    const { code, stdout, stderr } = await run({ "a/one.test.ts": failing }, "--tier", tier);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^FAILED: test\/a\/one\.test\.ts: fails\n(.*\n)* +Expected: 2$/m),
    ]);
    expect(stdout).toEndWith("0 passed, 1 failed\n");
    expect(stderr).toContain("Expected: 2");
  }
});

test("a story that fails once is flaky: a warning in the fast tier, a failure in the others", async () => {
  for (const [tier, expected] of [
    ["fast", 0],
    ["all", 3],
  ] as const) {
    const { code, stdout } = await run({ "a/one.test.ts": flaky }, "--tier", tier);
    expect([tier, code]).toEqual([tier, expected]);
    expect(stdout).toContain("FLAKY: test/a/one.test.ts: fails (once) & then passes");
    expect(stdout).toEndWith("1 passed, 0 failed\n");
  }
});

test("a hook that fails is run once more, with all stories of its file", async () => {
  const hook = (failing: string) =>
    `${head}import { beforeAll } from "bun:test";\nbeforeAll(() => { if (${failing}) throw new Error("not ready"); writeFileSync("ran", ""); });\n${passing.slice(head.length)}`;
  const always = await run({ "a/one.test.ts": hook("true") }, "--tier", "all");
  expect([always.code, always.stdout]).toEqual([1, expect.stringContaining("not ready")]);
  const once = hook('!existsSync("ran") && !writeFileSync("ran", "")');
  const { code, stdout } = await run({ "a/one.test.ts": once }, "--tier", "all");
  expect(stdout).toContain("FLAKY: test/a/one.test.ts: (unnamed)");
  expect(code).toBe(3);
});

test("after the fast tier, on the same sources, only the stories are run that it did not prove", async () => {
  await using project = await tempFolder();
  const telling = (titles: string) => `import { appendFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "bun:test";
const isFast = process.env.TEST_TIER === "fast";
beforeAll(() => appendFileSync("ran", "prepared "));
afterAll(() => appendFileSync("ran", "closed "));
for (const title of ${titles}) test.if(true)(title, () => {
  appendFileSync("ran", title + " ");
  if (title === "flaky") expect([isFast, process.env.TEST_TIME_FACTOR]).not.toEqual([true, "1"]);
});`;
  await Bun.write(join(project.path, "bunfig.toml"), `[test]\npreload = ["${preload}"]\n`);
  const files = {
    "a/one.test.ts": telling('isFast ? ["sqlite", "flaky"] : ["sqlite", "postgres", "flaky"]'),
    "b/proven.test.ts": telling('["always"]'),
  };
  const ran = async (...args: string[]) => {
    const code = await (await start(project.path, files, ...args)).exited;
    const text = await readFile(join(project.path, "ran"), "utf8").catch(() => "");
    await rm(join(project.path, "ran"), { force: true });
    return [code, text.trim().split(" ").sort().join(" ")];
  };
  expect(await ran("--tier", "all", "--after-fast")).toEqual([2, ""]);
  expect(await ran()).toEqual([
    0,
    "always closed closed closed flaky flaky prepared prepared prepared sqlite",
  ]);
  expect(await ran("--tier", "all", "--after-fast")).toEqual([0, "closed flaky postgres prepared"]);
  await Bun.write(join(project.path, "src/one.ts"), "");
  expect(await ran("--tier", "all", "--after-fast")).toEqual([2, ""]);
});

test("a file whose stories do less in the fast tier says so in their titles", async () => {
  const depends = /\btier [!=]== "fast"|\bdisguisesFor\(/;
  for (const file of testsOf([...new Bun.Glob("test/*/*.test.ts").scanSync()], "fast")) {
    const text = await Bun.file(file).text();
    if (depends.test(text)) expect([file, text]).toEqual([file, expect.stringContaining("scaled(")]);
  }
});

test("a file that cannot be loaded, ends its process or declares no story fails the run", async () => {
  const dying = `${head}test("dies", () => process.exit(0));`;
  for (const text of ['import "./missing.ts";', dying, ""]) {
    const { code } = await run({ "a/one.test.ts": text, "a/two.test.ts": passing });
    expect([text, code]).toEqual([text, 1]);
  }
});

test("a signal to the runner alone ends what it has started, and then the runner", async () => {
  const hanging = `${head}test("hangs", async () => {
  const { pid, exited } = Bun.spawn(["sleep", "600"]);
  writeFileSync("pids", \`\${process.pid} \${pid}.\`);
  await exited;
});`;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using project = await tempFolder();
    const child = await start(project.path, { "a/one.test.ts": hanging });
    const [, ...pids] = await until("the story runs", async () => {
      const text = await readFile(join(project.path, "pids"), "utf8").catch(() => "");
      return /^(\d+) (\d+)\.$/.exec(text) ?? undefined;
    });
    child.kill(signal);
    await within("the runner ends", child.exited);
    expect(child.signalCode).toBe(signal);
    // A process that has ended has no program, also where nobody waits for it.
    for (const pid of pids) await until(`${pid} has ended`, () => !existsSync(`/proc/${pid}/exe`));
    expect(await readdir(project.path)).not.toContainEqual(expect.stringMatching(/^node-server-/));
  }
});

test("a name that fits no test is told with the folders that exist", async () => {
  const { code, stderr } = await run({ "a/one.test.ts": passing }, "b");
  expect([code, stderr]).toEqual([2, "no test is called b; the folders are a\n"]);
});

test("a folder, a file with or without its ending, and a folder outside of the tier can be named", () => {
  const files = ["test/auth/a.test.ts", "test/auth/b.test.ts", "test/hostile/c.test.ts"];
  expect(testsOf(files, "fast")).toEqual(files.slice(0, 2));
  expect(testsOf(files, "all")).toEqual(files);
  expect(namedTests(files, ["auth"], "fast").files).toEqual(files.slice(0, 2));
  expect(namedTests(files, ["test/auth/", "hostile"], "fast").files).toEqual(files);
  for (const name of ["auth/a", "test/auth/a.test.ts", "./test/auth/a.test.ts"])
    expect(namedTests(files, [name], "fast").files).toEqual(files.slice(0, 1));
});

test("every file that the tiers name exists", () => {
  expect(unknownNames([...new Bun.Glob("test/*/*.test.ts").scanSync()])).toEqual([]);
});

test("changed files choose the tests of their module and the tests that import them", async () => {
  const files = (await Array.fromAsync(new Bun.Glob("test/*/*.test.ts").scan())).sort();
  const folders = (...changed: string[]) => [
    ...new Set(changedTests(files, changed, "fast").map((file) => file.split("/")[1])),
  ];
  expect(folders("src/auth/passwords.ts")).toEqual(["auth"]);
  expect(folders("src/http/webdav/handler.ts")).toEqual(["webdav"]);
  expect(folders("src/node.ts")).toEqual(["node-server"]);
  expect(folders("README.md")).toEqual([]);
  expect(changedTests(files, ["test/base/xml.test.ts"], "fast")).toEqual(["test/base/xml.test.ts"]);
  expect(changedTests(files, ["test/tiers.ts"], "fast")).toEqual(["test/scripts/runner.test.ts"]);
});
