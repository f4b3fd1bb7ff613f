import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceSection } from "../../bench/report/sections.ts";
import { tempFolder } from "../support/node.ts";

const root = join(import.meta.dir, "../..");

test("docs/performance.md has a place for the figures of every part of the benchmark", () => {
  const page = readFileSync(join(root, "docs/performance.md"), "utf8");
  const code = readFileSync(join(root, "bench/report/write.ts"), "utf8");
  const written = [...code.matchAll(/replaceSection\(page, "([\w-]+)"/g)].map(([, name]) => name);
  const places = [...page.matchAll(/<!-- ([\w-]+):start -->\n[\s\S]*?\n<!-- \1:end -->/g)].map(
    ([, name]) => name,
  );
  expect(written.length).toBeGreaterThan(5);
  expect(places.toSorted()).toEqual(written.toSorted());
});

test("figures replace those of the last run, and nothing else", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "docs/page.md");
  await mkdir(join(folder.path, "docs"));
  await writeFile(path, "before\n<!-- cost:start -->\nold\n<!-- cost:end -->\nafter\n");
  await replaceSection(path, "cost", ["| new |", "word ".repeat(30).trim()]);
  const wrapped = `${"word ".repeat(20).trim()}\n${"word ".repeat(10).trim()}`;
  expect(readFileSync(path, "utf8")).toBe(
    `before\n<!-- cost:start -->\n| new |\n\n${wrapped}\n<!-- cost:end -->\nafter\n`,
  );
  expect(replaceSection(path, "growth", [])).rejects.toThrow("no place for the figures");
});
