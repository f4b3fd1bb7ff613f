/** Block of a Markdown document. Raw HTML is text. */
export type Block =
  | { readonly as: "heading"; readonly level: number; readonly text: string }
  | { readonly as: "paragraph"; readonly text: string }
  | { readonly as: "code"; readonly text: string }
  | { readonly as: "rule" }
  | { readonly as: "quote"; readonly blocks: readonly Block[] }
  | {
      readonly as: "list";
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly (readonly Block[])[];
    }
  | { readonly as: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

/** Quotes and lists can be in each other, this deep. Deeper ones are shown as text. */
const maxDepth = 8;
const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;
const quote = /^ {0,3}> ?/;
const tableLine = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** Parses the common part of CommonMark and tables. It never fails: what it does not know is a paragraph. */
export function parseMarkdown(text: string): Block[] {
  return parseLines(text.split("\n"), 0);
}

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") at += 1;
    else {
      const { block, end } = blockAt(lines, at, depth);
      blocks.push(block);
      at = end;
    }
  }
  return blocks;
}

interface ParsedBlock {
  readonly block: Block;
  /** Index of the first line after the block. */
  readonly end: number;
}

function blockAt(lines: readonly string[], at: number, depth: number): ParsedBlock {
  const line = lines[at] ?? "";
  const fenced = fence.exec(line)?.[1];
  if (fenced !== undefined) return codeAt(lines, at, fenced);
  const titled = heading.exec(line);
  if (titled !== null)
    return {
      block: { as: "heading", level: titled[1]?.length ?? 1, text: titled[2] ?? "" },
      end: at + 1,
    };
  if (rule.test(line)) return { block: { as: "rule" }, end: at + 1 };
  if (quote.test(line) && depth < maxDepth) return quoteAt(lines, at, depth);
  if (bullet.test(line) && depth < maxDepth) return listAt(lines, at, depth);
  if (/^(?: {4}|\t)/.test(line)) return indentedAt(lines, at);
  if (line.includes("|") && tableLine.test(lines[at + 1] ?? "")) return tableAt(lines, at);
  return paragraphAt(lines, at);
}

function codeAt(lines: readonly string[], at: number, fenced: string): ParsedBlock {
  const mark = fenced[0] ?? "";
  const isEnd = (line: string) => {
    const text = line.trim();
    return text.length >= fenced.length && text === mark.repeat(text.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end += 1;
  return { block: { as: "code", text: lines.slice(at + 1, end).join("\n") }, end: end + 1 };
}

function indentedAt(lines: readonly string[], at: number): ParsedBlock {
  let end = at;
  while (end < lines.length && /^(?: {4}|\t)/.test(lines[end] ?? "")) end += 1;
  const text = lines.slice(at, end).map((line) => line.replace(/^(?: {4}|\t)/, ""));
  return { block: { as: "code", text: text.join("\n") }, end };
}

function quoteAt(lines: readonly string[], at: number, depth: number): ParsedBlock {
  let end = at;
  while (end < lines.length && quote.test(lines[end] ?? "")) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(quote, ""));
  return { block: { as: "quote", blocks: parseLines(inner, depth + 1) }, end };
}

function listAt(lines: readonly string[], at: number, depth: number): ParsedBlock {
  const marker = (line: string) => bullet.exec(line);
  const first = marker(lines[at] ?? "")?.[2] ?? "-";
  const ordered = /\d/.test(first);
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const found = marker(lines[end] ?? "");
    if (found === null || /\d/.test(found[2] ?? "") !== ordered || rule.test(lines[end] ?? "")) break;
    const indent = found[0].length === (lines[end] ?? "").length ? 2 : found[0].length;
    const own = [(lines[end] ?? "").slice(found[0].length)];
    end += 1;
    for (; end < lines.length; end += 1) {
      const line = lines[end] ?? "";
      const isBlank = line.trim() === "";
      const inside = line.length - line.trimStart().length >= Math.min(indent, 2);
      if (isBlank ? !continues(lines[end + 1] ?? "", indent) : !inside && marker(line) !== null) break;
      if (!isBlank && !inside && lines[end - 1]?.trim() === "") break;
      own.push(inside ? line.slice(Math.min(indent, line.length - line.trimStart().length)) : line);
    }
    items.push(parseLines(own, depth + 1));
    while (lines[end]?.trim() === "" && marker(lines[end + 1] ?? "") !== null) end += 1;
  }
  return { block: { as: "list", ordered, start: Number.parseInt(first, 10) || 1, items }, end };
}

function continues(next: string, indent: number): boolean {
  return next.trim() !== "" && next.length - next.trimStart().length >= Math.min(indent, 2);
}

function tableAt(lines: readonly string[], at: number): ParsedBlock {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(at + 2, end).map(cellsOf);
  return { block: { as: "table", head: cellsOf(lines[at] ?? ""), rows }, end };
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\||\|$/g, "");
  return inner.split("|").map((cell) => cell.trim());
}

function paragraphAt(lines: readonly string[], at: number): ParsedBlock {
  let end = at + 1;
  const ends = (line: string) =>
    line.trim() === "" || [fence, heading, rule, quote, bullet].some((pattern) => pattern.test(line));
  while (end < lines.length && !ends(lines[end] ?? "")) {
    // A line of `=` or `-` below a text makes it a heading.
    if (/^ {0,3}=+[ \t]*$/.test(lines[end] ?? "")) return setext(lines, at, end, 1);
    end += 1;
  }
  if (/^ {0,3}-+[ \t]*$/.test(lines[end] ?? "") && rule.test(lines[end] ?? ""))
    return setext(lines, at, end, 2);
  return { block: { as: "paragraph", text: lines.slice(at, end).join("\n") }, end };
}

function setext(lines: readonly string[], at: number, end: number, level: number): ParsedBlock {
  return { block: { as: "heading", level, text: lines.slice(at, end).join(" ") }, end: end + 1 };
}
