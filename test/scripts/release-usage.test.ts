import { expect, test } from "bun:test";
import { resolve } from "node:path";
import { tempFolder } from "../support/node.ts";

const root = resolve(import.meta.dir, "../..");

async function release(...args: string[]) {
  await using temp = await tempFolder();
  return await run("release.ts", "--out", `${temp.path}/release`, ...args);
}

async function run(script: string, ...args: string[]) {
  const child = Bun.spawn([process.execPath, `scripts/${script}`, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}

test("a release that is asked for wrongly ends in one line, and --help lists the options", async () => {
  const wrong: [string[], string][] = [
    [["--only", "x"], "no target is called x; there are x86_64-unknown-linux-gnu"],
    [["--nonsense"], "Unknown option '--nonsense'"],
    [["--version", "1"], "--version 1: "],
    [["--key", "/nonexistent"], "the key /nonexistent cannot be used"],
  ];
  const told = await Promise.all(
    wrong.map(async ([args, said]) => ({ args, said, ...(await release(...args)) })),
  );
  for (const { args, said, code, stdout, stderr } of told) {
    expect([args, code, stdout]).toEqual([args, 2, ""]);
    expect(stderr).toStartWith(`release: ${said}`);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  }
  const help = await release("--help");
  expect([help.code, help.stderr]).toEqual([0, ""]);
  for (const option of ["--key", "--out", "--only", "--version", "--level"])
    expect(help.stdout).toContain(`  ${option} `);
});

test("a key for releases is never written over, and its place is always named", async () => {
  await using temp = await tempFolder();
  const made = await run("release-key.ts", `${temp.path}/release`);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  for (const [code, said, ...args] of [
    [1, `${temp.path}/release.key exists already; `, `${temp.path}/release`],
    [2, "say where: npm run release:key -- "],
  ] as const) {
    const told = await run("release-key.ts", ...args);
    expect([told.code, told.stdout, told.stderr]).toEqual([code, "", expect.stringMatching(/^.+\n$/)]);
    expect(told.stderr).toStartWith(said);
  }
});
