import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of a page in `docs/`. */
export function pageText(page: string): string {
  return readFileSync(join(import.meta.dir, "../../docs", page), "utf8");
}

/** The text of a section of a page in `docs/`, from its heading to the next one of the same rank. */
export function sectionOf(page: string, title: string): string {
  const [, section] = pageText(page).split(`\n## ${title}\n`);
  if (section === undefined) throw new Error(`docs/${page} has no section ${title}`);
  return section.split("\n## ", 1)[0] ?? "";
}

/** The only block of this language in a text. */
export function blockOf(text: string, language: string): string {
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))];
  expect(blocks).toHaveLength(1);
  return blocks[0]?.[1] ?? "";
}

/** Block is a code block of a page. */
export interface Block {
  /** The word after the fence; empty without one. */
  readonly language: string;
  readonly text: string;
  /** The line of its fence in the page. */
  readonly line: number;
}

/** All code blocks of a page in `docs/`, in their order. */
export function blocksOf(page: string): readonly Block[] {
  const text = pageText(page);
  const blocks = [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = "", block = ""], at, all) => ({
      language,
      text: block,
      line: text.slice(0, all[at]?.index).split("\n").length,
    }),
  );
  // A block inside of a list, which the expression does not find, would not be run.
  expect(2 * blocks.length).toBe(text.match(/^ *```/gm)?.length ?? 0);
  return blocks;
}

/** `text` with every pair replaced; each must be there. */
export function replaced(text: string, pairs: ReadonlyArray<readonly [from: string, to: string]>): string {
  return pairs.reduce((rest, [from, to]) => {
    expect(rest).toContain(from);
    return rest.replaceAll(from, to);
  }, text);
}
