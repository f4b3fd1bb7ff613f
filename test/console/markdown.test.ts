import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseCsv } from "../../src/console/pages/buckets/preview/csv.ts";
import { parseMarkdown } from "../../src/console/pages/buckets/preview/markdown.ts";

test("the blocks of a document are found", () => {
  const text = `# Title #

First line
second line

Under
=====
- one
  more of it
- two
  1. deep

3. third

> quoted
> # inside

\`\`\`sh
# no heading
\`\`\`
---
| a | b |
|---|:-:|
| 1 | 2 |
`;
  expect(parseMarkdown(text)).toEqual([
    { as: "heading", level: 1, text: "Title" },
    { as: "paragraph", text: "First line\nsecond line" },
    { as: "heading", level: 1, text: "Under" },
    {
      as: "list",
      ordered: false,
      start: 1,
      items: [
        [{ as: "paragraph", text: "one\nmore of it" }],
        [
          { as: "paragraph", text: "two" },
          { as: "list", ordered: true, start: 1, items: [[{ as: "paragraph", text: "deep" }]] },
        ],
      ],
    },
    { as: "list", ordered: true, start: 3, items: [[{ as: "paragraph", text: "third" }]] },
    {
      as: "quote",
      blocks: [
        { as: "paragraph", text: "quoted" },
        { as: "heading", level: 1, text: "inside" },
      ],
    },
    { as: "code", text: "# no heading" },
    { as: "rule" },
    { as: "table", head: ["a", "b"], rows: [["1", "2"]] },
  ]);
});

test("any text is parsed, and its words are kept", () => {
  const lines = fc.array(
    fc.constantFrom(
      "- a",
      "  b",
      "> c",
      "1. d",
      "```",
      "",
      "---",
      "===",
      "| e | f |",
      "|--|--|",
      "    g",
      "# h",
      ">> - i",
    ),
  );
  fc.assert(
    fc.property(lines, (all) => {
      const found = JSON.stringify(parseMarkdown(all.join("\n")));
      const fenced = all.filter((line) => line === "```").length > 0;
      for (const line of all)
        for (const word of fenced ? [] : (line.match(/[a-i]/g) ?? [])) expect(found).toContain(word);
    }),
  );
  expect(() => parseMarkdown(">".repeat(20_000))).not.toThrow();
  expect(() => parseMarkdown("- ".repeat(20_000))).not.toThrow();
});

test("a table is read as a spreadsheet would read it", () => {
  expect(parseCsv('a,b\n"x, ""y""\nz",2\n,\n', 10).rows).toEqual([
    ["a", "b"],
    ['x, "y"\nz', "2"],
    ["", ""],
  ]);
  expect(parseCsv("a;b;c,d\n1;2;3", 10).rows).toEqual([
    ["a", "b", "c,d"],
    ["1", "2", "3"],
  ]);
  expect(parseCsv('a\tb\n"open', 10).rows).toEqual([["a", "b"], ["open"]]);
  expect(parseCsv("1\n2\n3", 2)).toEqual({ rows: [["1"], ["2"]], more: true });
  expect(parseCsv("1\n2\n", 2).more).toBe(false);
});
