import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { newHome, story } from "../support/process.ts";
import { program } from "../support/program.ts";

const readme = readFileSync(join(import.meta.dir, "../../README.md"), "utf8");

/** Returns the lines of a first start without what differs from one to another. */
const shape = (text: string): string[] =>
  text
    .trimEnd()
    .split("\n")
    .filter((line) => line.includes(" INFO ") || line === "…")
    .map((line) =>
      line
        .replace(/^\S+ +/, "")
        .replace(/=\S*\//g, "=/")
        .replace(/(127\.0\.0\.1):\d+/, "$1"),
    );

/** Returns the lines with `…` in place of all migrations but the first. */
function withoutMigrations(lines: readonly string[]): string[] {
  const isMigration = (line: string | undefined) => line?.startsWith("INFO db: applied migration ") === true;
  const [, ...further] = lines.filter(isMigration);
  const last = further.at(-1);
  return lines.flatMap((line) => (line === last ? ["…"] : further.includes(line) ? [] : [line]));
}

story("README.md shows a first start as it is", async () => {
  const shown = /```\n(node-server: wrote a default configuration[\s\S]*?)```/.exec(readme)?.[1] ?? "";
  await using home = await newHome();
  const server = await home.serve();
  await server.stop();
  const lines = shape(server.stderr).filter((line) => !line.includes("stopping on"));
  expect(shape(shown)).toEqual(withoutMigrations(lines));
  const credentials = (text: string) =>
    text.match(/^(?:Super Token: \w{16}:\w{32}|Root Password: \w{32})$/gm);
  expect(credentials(shown)).toHaveLength(2);
  expect(credentials(server.stdout)).toHaveLength(2);
});

/** Returns a text without what differs from one run to another: ports, deploys and spaces. */
const said = (text: string) =>
  text
    .replace(/(127\.0\.0\.1[:-])\d+/g, "$1PORT")
    .replace(/(published|back to|was) \w{10}\b/g, "$1 DEPLOY")
    .replace(/ +$/gm, "");

story("the commands of README.md publish a page and go back", async () => {
  await using home = await newHome();
  const server = await home.serve();
  const bin = home.file("dist");
  await mkdir(bin);
  const command = `#!/bin/sh\nexec ${program.map((part) => `'${part}'`).join(" ")} "$@"\n`;
  await writeFile(join(bin, "node-server"), command);
  await chmod(join(bin, "node-server"), 0o755);
  const blocks = readme.matchAll(/^```\n(\$ [\s\S]*?)^```/gm);
  const steps = [...blocks].flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1));
  expect(steps.length).toBeGreaterThan(8);
  for (const step of steps) {
    const [line = "", ...shown] = step.trimEnd().split("\n");
    const child = Bun.spawn(["sh", "-c", line.replaceAll(":2211", `:${new URL(server.url).port}`)], {
      cwd: home.path,
      env: { HOME: home.path, PATH: `${bin}${delimiter}${process.env.PATH}` },
      stdin: Buffer.from(`${server.superToken}\n`),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    // Only a terminal is asked for a token, and only a pipe gets the row of a new bucket.
    const expected = shown.filter((text) => !text.startsWith("Token for ")).map(said);
    const printed = said(`${stdout}${stderr}`).split("\n");
    expect([line, code, printed]).toEqual([line, 0, expect.arrayContaining(expected)]);
  }
});
