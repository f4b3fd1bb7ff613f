import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of a section of a page in `docs/`, from its heading to the next one of the same rank. */
export function sectionOf(page: string, title: string): string {
  const text = readFileSync(join(import.meta.dir, "../../docs", page), "utf8");
  const [, section] = text.split(`\n## ${title}\n`);
  if (section === undefined) throw new Error(`docs/${page} has no section ${title}`);
  return section.split("\n## ", 1)[0] ?? "";
}

/** The only block of this language in a text. */
export function blockOf(text: string, language: string): string {
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))];
  expect(blocks).toHaveLength(1);
  return blocks[0]?.[1] ?? "";
}

/** `text` with every pair replaced; each must be there. */
export function replaced(text: string, pairs: ReadonlyArray<readonly [from: string, to: string]>): string {
  return pairs.reduce((rest, [from, to]) => {
    expect(rest).toContain(from);
    return rest.replaceAll(from, to);
  }, text);
}
