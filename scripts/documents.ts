import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { Glob } from "bun";

const markdownFiles = ["*.md", "{bench,deploy,docs,scripts,src,test}/**/*.md"];
const maxLineLength = 100;

/**
 * documentProblems lists the lines of Markdown that are too long, and the relative links that lead to no
 * file or to no heading.
 */
export async function documentProblems(root = "."): Promise<string[]> {
  const texts = new Map<string, string>();
  const found = await Promise.all(markdownFiles.map((files) => Array.fromAsync(new Glob(files).scan(root))));
  for (const path of found.flat().sort())
    texts.set(path, withoutCodeBlocks(await Bun.file(join(root, path)).text()));
  const anchors = new Map([...texts].map(([path, text]) => [path, anchorsOf(text)]));
  const isThere = (path: string) => existsSync(join(root, path));
  return [...texts].flatMap(([path, text]) => [
    ...longLineProblems(path, text),
    ...brokenLinks({ path, text, anchors, isThere }),
  ]);
}

/** withoutCodeBlocks empties the lines of fenced code, so that the others keep their numbers. */
function withoutCodeBlocks(text: string): string {
  let fence: string | undefined;
  return text
    .split("\n")
    .map((line) => {
      const [, mark] = /^[\s>]*(?:(?:[-*+]|\d+\.)\s+)?(`{3,}|~{3,})/.exec(line) ?? [];
      if (fence === undefined) {
        fence = mark;
        return mark === undefined ? line : "";
      }
      if (mark?.startsWith(fence) && line.trimEnd().endsWith(mark)) fence = undefined;
      return "";
    })
    .join("\n");
}

function longLineProblems(path: string, text: string): string[] {
  const lines = text.split("\n");
  return longLines(text).map(
    (at) =>
      `${path}:${at + 1}: the line has ${lengthOf(lines[at] ?? "")} characters; wrap it at ${maxLineLength}`,
  );
}

/** longLines returns the indexes of the lines that must be wrapped. Tables, headings, HTML and links may be longer. */
function longLines(text: string): number[] {
  let isComment = false;
  return text.split("\n").flatMap((line, at) => {
    isComment ||= line.includes("<!--");
    const mayBeLong = isComment || /^\s*(?:\||#|<\/?[a-z][\w-]*[\s>])/i.test(line) || hasOnlyLinks(line);
    if (isComment && line.includes("-->")) isComment = false;
    return mayBeLong || lengthOf(line) <= maxLineLength ? [] : [at];
  });
}

const lengthOf = (line: string) => [...line].length;

/** hasOnlyLinks is true for a line without words between its links. */
function hasOnlyLinks(line: string): boolean {
  const rest = line.replace(/!?\[[^\]]*\](?:\([^)]*\)|: .*)|<?https?:\/\/\S+>?/g, "");
  return !/[\p{L}\p{N}]/u.test(rest);
}

/** wrapMarkdown wraps the lines that documentProblems would name. Links and code stay whole where they fit. */
export function wrapMarkdown(text: string): string {
  const long = new Set(longLines(withoutCodeBlocks(text)));
  return text
    .split("\n")
    .map((line, at) => (long.has(at) ? wrapLine(line) : line))
    .join("\n");
}

/** A word, or a link or code with its spaces, together with what is written to it without a space. */
const token = /(?:!?\[[^\]]*\]\([^)]*\)|`[^`]*`|\S)+/g;
/** A word that would begin a list, a quote or a table if a line began with it. */
const marker = /^(?:[-+*>|=]|#+|\d+[.)])$/;

function wrapLine(line: string): string {
  const [, start = "", indent = "", bullet = "", text = ""] =
    /^((\s*)((?:(?:[-*+]|\d+\.)\s+|>\s)?))(.*)$/.exec(line) ?? [];
  const next = indent + (bullet.startsWith(">") ? bullet : " ".repeat(bullet.length));
  const lines = [start];
  for (const word of wordsOf(text)) {
    const last = lines.at(-1) ?? "";
    const isFirst = last === (lines.length === 1 ? start : next);
    if (isFirst || marker.test(word) || lengthOf(`${last} ${word}`) <= maxLineLength)
      lines[lines.length - 1] = isFirst ? last + word : `${last} ${word}`;
    else lines.push(next + word);
  }
  return lines.join("\n");
}

/** wordsOf splits a text at its spaces, except in links and code that fit into a line. */
function wordsOf(text: string): string[] {
  const isTooLong = (word: string) => lengthOf(word) > maxLineLength - 10;
  return (text.match(token) ?? []).flatMap((word) => (isTooLong(word) ? word.split(/\s+/) : [word]));
}

interface LinkSource {
  readonly path: string;
  readonly text: string;
  /** The anchors of every Markdown file. */
  readonly anchors: ReadonlyMap<string, ReadonlySet<string>>;
  isThere(path: string): boolean;
}

const links =
  /!?\[[^\]]*\]\(\s*<?([^)\s>]+)|^[ \t]*\[[^\]]+\]:\s+(\S+)|<(?:a|img)\s[^>]*(?:href|src)="([^"]*)"/gm;

function brokenLinks({ path, text, anchors, isThere }: LinkSource): string[] {
  const prose = withoutCodeSpans(text);
  return [...prose.matchAll(links)].flatMap((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? "";
    if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return [];
    const place = `${path}:${prose.slice(0, match.index).split("\n").length}`;
    const [file = "", anchor] = target.split("#");
    const linked = file === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
    if (linked.startsWith("..") || !isThere(linked)) return [`${place}: ${target} leads to no file`];
    if (anchor === undefined || anchors.get(linked)?.has(anchor) !== false) return [];
    return [`${place}: ${target} leads to no heading of ${linked}`];
  });
}

/** withoutCodeSpans empties `code` within paragraphs, line breaks excepted. */
function withoutCodeSpans(text: string): string {
  return text.replace(/(?<!`)(`+)(?!`)((?:(?!\n\s*\n)[\s\S])*?[^`])\1(?!`)/g, (span) =>
    span.replace(/[^\n]/g, ""),
  );
}

/** anchorsOf returns the anchors that GitHub gives to headings, and those that a page sets itself. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const slug = heading
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
      .replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of text.matchAll(/<[a-z]+\s[^>]*\b(?:id|name)="([^"]+)"/gi)) anchors.add(id);
  return anchors;
}
