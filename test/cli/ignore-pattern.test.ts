import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { IgnorePattern, InvalidPattern } from "../../src/cli/transfer/ignore-pattern.ts";
import { SkipRules } from "../../src/cli/transfer/skip-rules.ts";

/** Names with everything that patterns treat specially. In git `?` is a byte, here a character, so there is no other difference. */
const names = ["a", "b", "ab", "a.b", ".a", "a-b", "[a]", "a*b", "!a", "#a", "a b"];
const path = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("/"));
const segment = fc.oneof(
  fc.constantFrom(...names.map((name) => name.replace(/[[\]*!#]/g, "\\$&"))),
  fc.constantFrom(
    "*",
    "?",
    "**",
    "a*",
    "*b",
    "a?b",
    "[ab]",
    "[!a]",
    "[^a]*",
    "[a-c]*",
    "[]a]*",
    "?*",
    "*.b",
    "**b",
  ),
);
const pattern = fc
  .tuple(
    fc.constantFrom("", "", "/"),
    fc.array(segment, { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "", "/"),
  )
  .map(([before, parts, after]) => before + parts.join("/") + after);

/** The number of the last line that matches each path, as git sees it; 0 for none. Every path is a folder's if it ends in a slash. */
async function gitMatches(repository: string, lines: readonly string[], paths: readonly string[]) {
  await writeFile(join(repository, "patterns"), `${lines.join("\n")}\n`);
  const run = Bun.spawn(
    ["git", "-c", "core.excludesFile=patterns", "check-ignore", "--no-index", "-nvz", "--stdin"],
    { cwd: repository, stdin: new Blob([paths.map((path) => `${path}\0`).join("")]), stderr: "pipe" },
  );
  const fields = (await run.stdout.text()).split("\0").slice(0, -1);
  expect(await run.stderr.text()).toBe("");
  return new Map(
    paths.map((path, at) => [path, { line: Number(fields[at * 4 + 1]), pattern: fields[at * 4 + 2] ?? "" }]),
  );
}

test("patterns match what git's own do", async () => {
  const repository = await mkdtemp(join(tmpdir(), "ignore-"));
  try {
    await Bun.spawn(["git", "init", "-q"], { cwd: repository }).exited;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), pattern), { minLength: 1, maxLength: 6 }),
        fc.uniqueArray(path, { minLength: 20, maxLength: 40 }),
        async (lines, paths) => {
          const texts = lines.map(([isNegated, text]) => (isNegated ? `!${text}` : text));
          await writeFile(join(repository, ".nodeserverignore"), `.*\n!*\n${texts.join("\n")}\n`);
          const rules = SkipRules.read(repository);
          // Git decides by the folders above a path, too. It takes a path that does not exist for a file's.
          const git = await gitMatches(repository, texts, paths);
          const differ = paths.filter((path) => {
            const { line, pattern } = git.get(path) ?? { line: 0, pattern: "" };
            const isIgnored = line > 0 && !pattern.startsWith("!");
            return isIgnored !== (rules.whySkipped(path) !== undefined);
          });
          expect(differ).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  } finally {
    await rm(repository, { recursive: true });
  }
});

test("a pattern with a slash at its end is about folders alone, and one with a slash elsewhere about a path", () => {
  const build = new IgnorePattern("build/");
  expect([
    build.matches("build", "folder"),
    build.matches("x/build", "folder"),
    build.matches("build", "file"),
  ]).toEqual([true, true, false]);
  const top = new IgnorePattern("/todo.txt");
  expect([top.matches("todo.txt", "file"), top.matches("x/todo.txt", "file")]).toEqual([true, false]);
  const inside = new IgnorePattern("drafts/**");
  expect([inside.matches("drafts", "folder"), inside.matches("drafts/a/b", "file")]).toEqual([false, true]);
});

test("a pattern that could never match is refused, because it would send what it should keep back", () => {
  for (const text of ["[a", "a[!b", "a\\", "a//b", "/", ""])
    expect([text, attempt(() => new IgnorePattern(text))]).toEqual([text, expect.any(InvalidPattern)]);
});

test("a name of many stars takes no time that grows with their number", () => {
  const pattern = new IgnorePattern(`${"*a".repeat(2000)}b`);
  expect(pattern.matches("a".repeat(5000), "file")).toBe(false);
  const folders = new IgnorePattern(`${"**/a/".repeat(300)}b`);
  expect(folders.matches(`${"a/".repeat(1000)}c`, "file")).toBe(false);
});

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
