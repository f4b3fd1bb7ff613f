import type { Line } from "./figures.ts";

const path = "README.md";
const start = "<!-- bench:start -->";
const end = "<!-- bench:end -->";

/** Puts the figures between the README's two markers. What it did or why not, in a line. */
export async function updateReadme(lines: readonly Line[]): Promise<string> {
  const file = Bun.file(path);
  const text = (await file.exists()) ? await file.text() : "";
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from === -1 || to === -1) return `${path} has no place for the table (${start} … ${end}).`;
  await Bun.write(path, `${text.slice(0, from + start.length)}\n${table(lines)}\n${text.slice(to)}`);
  return `The table in ${path} is up to date.`;
}

function table(lines: readonly Line[]): string {
  const day = new Date().toISOString().slice(0, 10);
  const rows = lines.map(({ what, ours, bare, ratio, target }) =>
    [what, ours, bare, ratio ?? "", target?.words ?? ""].join(" | "),
  );
  return [
    "| | node-server | bare Bun | ratio | target |",
    "|---|--:|--:|--:|---|",
    ...rows.map((row) => `| ${row} |`),
    "",
    `Medians of \`npm run bench\` with Bun ${Bun.version} on ${process.platform} ${process.arch}, ${navigator.hardwareConcurrency} cores, ${day}.`,
    "Bare Bun is a compiled `Bun.serve` that returns the same bytes; for calls it parses the request first.",
  ].join("\n");
}
