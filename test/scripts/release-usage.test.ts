import { expect, test } from "bun:test";
import { resolve } from "node:path";
import { tempFolder } from "../support/node.ts";

const root = resolve(import.meta.dir, "../..");

async function release(...args: string[]) {
  await using temp = await tempFolder();
  const out = ["--out", `${temp.path}/release`];
  const child = Bun.spawn([process.execPath, "scripts/release.ts", ...out, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: temp.path },
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
