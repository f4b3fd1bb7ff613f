import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { documentProblems, wrapMarkdown } from "../../scripts/documents.ts";
import { tempFolder } from "../support/node.ts";

/** Returns what the check finds in a tree that has these files and nothing else. */
async function problemsOf(files: Record<string, string | readonly string[]>): Promise<string[]> {
  await using tree = await tempFolder();
  for (const [name, lines] of Object.entries(files)) {
    const path = join(tree.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, [lines].flat().join("\n"));
  }
  return await documentProblems(tree.path);
}

const words = (length: number) =>
  "word "
    .repeat(length)
    .slice(0, length - 1)
    .concat(".");

test("a line of 101 characters is found, one of 100 is not", async () => {
  expect(await problemsOf({ "README.md": [words(100), "", `- ${words(99)}`, "ä".repeat(100)] })).toEqual([
    "README.md:3: the line has 101 characters; wrap it at 100",
  ]);
});

test("tables, code, headings, HTML, comments and links may be longer", async () => {
  const long = words(140);
  const link = `[a page](https://a.example/${"x".repeat(100)})`;
  const kinds = [`# ${long}`, `| ${long} |`, `<p>${long}</p>`, `<!-- ${long}`, `${long} -->`, link];
  const lists = [`- ${link} · <https://b.example/>`, `![a picture](https://a.example/${"x".repeat(100)})`];
  const code = ["```sh", long, "```", "- ~~~", `  ${long}`, "  ```", `  ${long}`, "  ~~~"];
  expect(await problemsOf({ "docs/page.md": [...kinds, ...lists, ...code] })).toEqual([]);
  expect(await problemsOf({ "docs/page.md": [...code, long, `${link} ${words(20)}`] })).toEqual([
    "docs/page.md:9: the line has 140 characters; wrap it at 100",
    "docs/page.md:10: the line has 149 characters; wrap it at 100",
  ]);
});

test("a link that leads to no file is found", async () => {
  const page = ["[one](gone.md), [two](../README.md),", "![three](gone.png) [four](../../outside.md)"];
  const more = ["", "[five]: gone.txt", "", '<img src="pictures/gone.svg">', "[fine](pictures/)"];
  expect(
    await problemsOf({ "README.md": "", "docs/page.md": [...page, ...more], "docs/pictures/a.svg": "" }),
  ).toEqual([
    "docs/page.md:1: gone.md leads to no file",
    "docs/page.md:2: gone.png leads to no file",
    "docs/page.md:2: ../../outside.md leads to no file",
    "docs/page.md:4: gone.txt leads to no file",
    "docs/page.md:6: pictures/gone.svg leads to no file",
  ]);
});

test("a link that leads to no heading is found, in this page and in others", async () => {
  const links = ["[a](#first) [b](#gone) [c](other.md#twice-1)", "[d](other.md#twice-2)"];
  const other = ["## Twice", "## Twice", "```", "## Twice", "```", '<a id="own"></a>'];
  const found = await problemsOf({
    "page.md": ["# First", ...links, "[e](other.md#own) [f](other.md#of-s3-_headers-and-a-link)"],
    "other.md": [...other, "## Of S3: `_headers`, and [a link](page.md)!"],
  });
  expect(found).toEqual([
    "page.md:2: #gone leads to no heading of page.md",
    "page.md:3: other.md#twice-2 leads to no heading of other.md",
  ]);
});

test("code and other sites are not followed", async () => {
  const page = [
    "`[a](gone.md)` and ``[b](gone.md) ` c``",
    "[d](https://a.example/gone.md#x)",
    "<mailto:a@b.example>",
  ];
  expect(await problemsOf({ "page.md": [...page, "```", "[e](gone.md)", "```"] })).toEqual([]);
});

test("wrapped pages have no long lines, and keep links, code and lists whole", async () => {
  const link = "[a page of another name](other.md#section)";
  const code = '`a.command --with "two words"`';
  const text = [`- ${words(80)} ${link}, ${words(70)} ${code} 1. ${words(30)}`, "", `| ${words(150)} |`];
  const wrapped = wrapMarkdown(text.join("\n"));
  expect(await problemsOf({ "page.md": wrapped, "other.md": "# Section" })).toEqual([]);
  expect(wrapped).toContain(`\n  ${link},`);
  expect(wrapped).toContain(code);
  expect(wrapped).not.toMatch(/^\s*1\./m);
  expect(wrapped.replace(/\n {2}/g, " ")).toBe(text.join("\n"));
  expect(wrapMarkdown(wrapped)).toBe(wrapped);
});
