import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newHome, story } from "../support/process.ts";

/** The lines of a first start without what differs from one to another. */
const shape = (text: string): string[] =>
  text
    .trimEnd()
    .split("\n")
    .filter((line) => line.includes(" INFO "))
    .map((line) =>
      line
        .replace(/^\S+ +/, "")
        .replace(/=\S*\//g, "=/")
        .replace(/(127\.0\.0\.1):\d+/, "$1"),
    );

story("README.md shows a first start as it is", async () => {
  const readme = readFileSync(join(import.meta.dir, "../../README.md"), "utf8");
  const shown = /```\n(node-server: wrote a default configuration[\s\S]*?)```/.exec(readme)?.[1] ?? "";
  await using home = await newHome();
  const server = await home.serve();
  await server.stop();
  const lines = shape(server.stderr).filter((line) => !line.includes("stopping on"));
  expect(shape(shown)).toEqual(lines);
});
