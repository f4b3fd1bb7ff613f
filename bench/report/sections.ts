import { wrapMarkdown } from "../../scripts/documents.ts";

/** replaceSection replaces what is between `<!-- name:start -->` and `<!-- name:end -->` in a file, and says so. */
export async function replaceSection(path: string, name: string, parts: readonly string[]): Promise<void> {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const old = await Bun.file(path).text();
  const from = old.indexOf(start);
  const to = old.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`${path} has no place for the figures (${start} … ${end})`);
  const text = wrapMarkdown(parts.join("\n\n"));
  await Bun.write(path, `${old.slice(0, from + start.length)}\n${text}\n${old.slice(to)}`);
  console.log(`${path}: the figures of ${name} are those of this run.`);
}
