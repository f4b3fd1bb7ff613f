import { type Captures, type Match, type PathPattern, PatternTable, parsePattern } from "./path-pattern.ts";
import { linesOf, ProblemList, quoted, type SiteProblem } from "./problem.ts";

/** Blocks of one file, and headers of one block, that are used, at most. */
const maxBlocks = 200;
const maxHeadersPerBlock = 50;
const maxStars = 4;
/** The length of all headers of one answer, at most: proxies refuse more. */
const maxAnswerChars = 16 * 1024;

type HeaderLine =
  | { readonly kind: "set"; readonly name: string; readonly value: string | readonly Part[] }
  | { readonly kind: "remove"; readonly name: string };

/** A part of a value that has placeholders: literal text, or a placeholder, as Cloudflare has it. */
type Part = string | { readonly placeholder: string };

interface Block {
  readonly number: number;
  readonly pattern: PathPattern;
  readonly lines: HeaderLine[];
  /** Whether it asks for a password, as Netlify has it. */
  isLocked: boolean;
  /** Whether the value of a header has placeholders, so that it depends on the path. */
  hasPlaceholders: boolean;
}

/** MatchedHeaders are the headers for one path. */
export interface MatchedHeaders {
  /** Equal for paths that have the same headers. */
  readonly key: string;
  /** By names in lower case. */
  readonly values: ReadonlyMap<string, string>;
}

const none: MatchedHeaders = { key: "", values: new Map() };
/** Results that are cached, by the blocks that matched. */
const maxCached = 1000;

/** HeaderRules has the blocks of a `_headers` file. */
export class HeaderRules {
  readonly #table = new PatternTable<Block>();
  readonly #locked = new PatternTable<Block>();
  readonly #cache = new Map<string, MatchedHeaders>();

  constructor(blocks: readonly Block[]) {
    for (const block of blocks) {
      this.#table.add(block.pattern, block);
      if (block.isLocked) this.#locked.add(block.pattern, block);
    }
  }

  /**
   * isLocked returns whether the files at a path are meant for those who know a password, which the server does not ask for: they must
   * not be public.
   */
  isLocked(path: string): boolean {
    return this.#locked.size > 0 && this.#locked.first(path) !== undefined;
  }

  /**
   * match returns the headers for a path as it was asked for, decoded and without a slash at its beginning. `isOwnHost` is
   * whether the host name is the bucket's own.
   */
  match(path: string, { isOwnHost }: { readonly isOwnHost: boolean }): MatchedHeaders {
    if (this.#table.size === 0) return none;
    const matches = this.#table.all(path);
    if (matches.length === 0) return none;
    const blocks = matches.map(({ value }) => value);
    const key = `${isOwnHost ? "h" : ""}${blocks.map(({ number }) => number).join()}`;
    if (blocks.some(({ hasPlaceholders }) => hasPlaceholders)) {
      const values = merge(matches, isOwnHost);
      return { key: `${key} ${JSON.stringify([...values])}`, values };
    }
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const made = { key, values: merge(matches, isOwnHost) };
    if (this.#cache.size === maxCached) this.#cache.clear();
    this.#cache.set(key, made);
    return made;
  }
}

const placeholderForm = /:([A-Za-z]\w*)/g;

/** Of several `*`, what each matched cannot be told. */
function isKnown({ placeholders, splat }: PathPattern, name: string): boolean {
  return name === "splat" ? splat?.between.length === 0 : placeholders.some((one) => one.name === name);
}

/** Cuts a value at the placeholders that the pattern has; other colons are literal. A value without placeholders stays as it is. */
function partsOf(value: string, pattern: PathPattern): string | readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: name = "" } of value.matchAll(placeholderForm)) {
    if (!isKnown(pattern, name)) continue;
    if (index > end) parts.push(value.slice(end, index));
    parts.push({ placeholder: name });
    end = index + whole.length;
  }
  if (parts.length === 0) return value;
  if (end < value.length) parts.push(value.slice(end));
  return parts;
}

/**
 * The value with the texts that its placeholders matched; undefined if it is longer than `maxChars`, which is found out before the texts
 * are put together. They are percent-encoded, as they are in an address: clients choose them, and nothing of them may end a header, a
 * part of its value or a quoted text.
 */
function fillTemplate(parts: readonly Part[], captures: Captures, maxChars: number): string | undefined {
  let text = "";
  for (const part of parts) {
    const own = typeof part === "string" ? part : (captures.get(part.placeholder) ?? "");
    if (text.length + own.length > maxChars) return undefined;
    text += typeof part === "string" ? part : encoded(own);
  }
  return text;
}

function encoded(text: string): string {
  const inName = (name: string) =>
    encodeURIComponent(name.toWellFormed()).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return text.split("/").map(inName).join("/");
}

/** A later block replaces what an earlier one has set, and adds to lists. */
function merge(matches: readonly Match<Block>[], isOwnHost: boolean): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  let chars = 0;
  for (const { value: block, captures } of matches) {
    const own = new Set<string>();
    const texts = block.hasPlaceholders ? captures() : undefined;
    for (const line of block.lines) {
      const before = values.get(line.name);
      if (line.kind === "remove") {
        values.delete(line.name);
        continue;
      }
      if (hostWideHeaders.has(line.name) && !isOwnHost) continue;
      const isAdded = before !== undefined && (own.has(line.name) || listHeaders.has(line.name));
      const value =
        typeof line.value === "string" || texts === undefined
          ? line.value
          : fillTemplate(line.value, texts, maxAnswerChars - chars);
      if (typeof value !== "string") return values;
      chars += line.name.length + value.length + 4;
      if (chars > maxAnswerChars) return values;
      values.set(line.name, isAdded ? `${before}, ${value}` : value);
      own.add(line.name);
    }
  }
  return values;
}

/**
 * parseHeaders reads a `_headers` file: a line with a path, and below it `Name: value` or `! Name`, as Netlify and Cloudflare
 * Pages have them.
 */
export function parseHeaders(content: Uint8Array): {
  readonly headers: HeaderRules;
  readonly problems: readonly SiteProblem[];
} {
  const problems = new ProblemList("_headers");
  const blocks: Block[] = [];
  /** Undefined before the first path, and below one that is wrong. */
  let block: Block | undefined;
  /** The line of the last path, while nothing is below it. */
  let lonely: number | undefined;
  let isInBlock = false;
  const warnOfLonely = () => {
    if (lonely !== undefined)
      problems.add(lonely, "no header is below this path; each path needs its own", "warning");
  };
  for (const { number, text } of linesOf(content, problems)) {
    if (text.startsWith("/") || /^https?:\/\//i.test(text)) {
      warnOfLonely();
      lonely = undefined;
      isInBlock = true;
      block = undefined;
      const pattern = parsePath(text);
      if (typeof pattern === "string") problems.add(number, pattern);
      else if (blocks.length === maxBlocks) {
        problems.add(
          number,
          `there are more than ${maxBlocks} blocks; this one and all after it are ignored`,
        );
        break;
      } else {
        block = { number: blocks.length, pattern, lines: [], isLocked: false, hasPlaceholders: false };
        blocks.push(block);
        lonely = number;
      }
      continue;
    }
    lonely = undefined;
    if (!isInBlock) problems.add(number, "a header needs a line with a path above it, such as /*");
    if (block !== undefined && /^basic-auth *:/i.test(text)) block.isLocked = true;
    const line = parseLine(text);
    if (typeof line === "string") problems.add(number, line);
    else if (block?.lines.length === maxHeadersPerBlock)
      problems.add(number, `a block may have ${maxHeadersPerBlock} headers at most`);
    else if (block !== undefined) {
      const value = line.kind === "set" ? partsOf(line.value, block.pattern) : "";
      block.lines.push(line.kind === "set" ? { ...line, value } : line);
      block.hasPlaceholders ||= typeof value !== "string";
    }
  }
  warnOfLonely();
  return { headers: new HeaderRules(blocks), problems: problems.found };
}

function parsePath(text: string) {
  if (!text.startsWith("/"))
    return "a block for one host name is not supported: write the path alone, and give the bucket the host name";
  if (/\s/.test(text)) return `${quoted(text)}: a path has no spaces; write the header on the line below it`;
  if (text.endsWith(":")) return `${quoted(text)}: the colon would be a part of the path; leave it out`;
  const pattern = parsePattern(text, { maxStars });
  return typeof pattern === "string" ? `${quoted(text)}: ${pattern}` : pattern;
}

function parseLine(text: string) {
  if (text.startsWith("!")) {
    const name = text.slice(1).trim().toLowerCase();
    return /^[\w-]+$/.test(name)
      ? ({ kind: "remove", name } as const)
      : `${quoted(text)}: write ! and the name of a header`;
  }
  const colon = text.indexOf(":");
  if (colon < 1) return `${quoted(text)}: a header is written as Name: value`;
  const shown = text.slice(0, colon).trim();
  const name = shown.toLowerCase();
  const value = text.slice(colon + 1).trim();
  const problem = problemInHeader(name, value);
  if (problem !== undefined) return `${shown.slice(0, 80)}: ${problem}`;
  return value === ""
    ? `${shown.slice(0, 80)}: the header has no value`
    : ({ kind: "set", name, value } as const);
}

/** What no bucket may set, each with the reason; names in lower case. */
const refused: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "the server needs it to frame the answer": [
      "content-length",
      "transfer-encoding",
      "connection",
      "keep-alive",
      "upgrade",
      "trailer",
      "te",
      "date",
      "content-encoding",
      "content-range",
      "accept-ranges",
      "proxy-authenticate",
      "proxy-connection",
    ],
    "the server sets it from the file": ["etag", "last-modified", "age"],
    "redirects belong into _redirects": ["location"],
    "sign-in belongs to the server": ["www-authenticate", "authentication-info", "set-cookie", "set-cookie2"],
    "_headers cannot set passwords, so this path answers 403; make the bucket private": ["basic-auth"],
    "pages of other origins must not read what a browser is signed in to": [
      "access-control-allow-credentials",
    ],
    "it concerns every page of the host, the server's own included": [
      "accept-ch",
      "alt-svc",
      "clear-site-data",
      "critical-ch",
      "nel",
      "report-to",
      "public-key-pins",
      "public-key-pins-report-only",
      "sec-session-registration",
      "service-worker-allowed",
      "set-login",
    ],
    "a proxy in front of the server would take it as an order": [
      "x-sendfile",
      "x-reproxy-url",
      "x-lighttpd-send-file",
    ],
  }).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

/** Headers that browsers apply to the whole host: set only where the host name is the bucket's own. */
const hostWideHeaders: ReadonlySet<string> = new Set(["strict-transport-security"]);

/** Headers of which several values are one list; any other is replaced by a later block. */
const listHeaders: ReadonlySet<string> = new Set(["link", "vary", "server-timing"]);

/** Headers that only caches between the server and browsers read. Some of them prefer these to Cache-Control. */
const sharedCacheHeaders =
  /^(?:.*cdn-cache-control|surrogate-control|edge-control|x-litespeed-cache-control)$/;

/** isForSharedCaches returns whether a header makes a cache that many people use keep an answer. `name` is in lower case. */
export function isForSharedCaches(name: string): boolean {
  return sharedCacheHeaders.test(name);
}

/** problemInHeader returns why a bucket may not set a header to a value. `name` is in lower case. */
function problemInHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return "the name of a header has letters, digits and hyphens";
  const why = refused.get(name) ?? (name.startsWith("x-accel-") ? refused.get("x-sendfile") : undefined);
  if (why !== undefined) return `a bucket cannot set it: ${why}`;
  if (!/^[\t\x20-\x7e]*$/.test(value))
    return "the value of a header is ASCII text without control characters";
  if (name === "x-content-type-options" && value.toLowerCase() !== "nosniff")
    return "its only value is nosniff";
  if (name === "content-type" && !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(?:;|$)/.test(value))
    return "its value is a media type, such as text/html; charset=utf-8";
  return undefined;
}

/** Types whose address a build tool changes with their content. Pages, data and documents keep theirs. */
const types =
  /\.(?:js|mjs|css|wasm|map|woff2?|ttf|otf|eot|png|jpe?g|gif|webp|avif|svg|ico|mp4|webm|mp3|m4a|ogg|oga|ogv|opus|wav|flac)$/i;
/** Endings that build tools put between the hash and the type: `main.1e989742.min.css`, `2.ce53a5c5.chunk.js.map`. */
const inner = /\.(?:min|chunk|bundle|module|lean|js|mjs|css)$/i;

/** Where SvelteKit writes files that never change, whose names may be hashes alone. */
const immutableFolder = /(?:^|\/)_app\/immutable\//;

/**
 * isFingerprinted returns whether the name of a file contains a hash of its content, as build tools write it, so that its content
 * never changes. A name that only looks so would be shown old for a year: therefore words with a number (`version2`,
 * `2024report`) are none, and a hash that happens to look like one is not recognised, which costs its readers a request.
 */
export function isFingerprinted(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  // Names of files have 255 bytes at most; whatever is longer is not looked at.
  if (name.length > 255 || !types.test(name)) return false;
  if (immutableFolder.test(path)) return true;
  let stem = name.replace(types, "");
  while (inner.test(stem)) stem = stem.replace(inner, "");
  const hash = /[.\-_]([0-9A-Za-z]+)$/.exec(stem)?.[1] ?? (/^[0-9a-f]{16,}$/.test(stem) ? stem : "");
  if (isHexHash(hash) || isBase32Hash(hash)) return true;
  // These hashes have 8 characters, which may be hyphens and underscores too.
  return /[.-]/.test(stem.slice(-9, -8)) && isBase64Hash(stem.slice(-8));
}

/** A word with a number before or behind it, or either alone. */
const plain = /^(?:[A-Za-z]+\d*|\d+[A-Za-z]*)$/;

function isHexHash(text: string): boolean {
  return /^(?:[0-9a-f]{8,128}|[0-9A-F]{8,128})$/.test(text) && !plain.test(text);
}

/** As esbuild and Angular write it. */
function isBase32Hash(text: string): boolean {
  return /^[A-Z2-7]{8}$/.test(text) && !plain.test(text);
}

/** A word as it is written in a name: `photo`, `DarkMode`, `iPhone15`, `USAToday`, `QueryAPI`. */
const word = /^[a-z]*(?:(?:[A-Z][a-z]+)*[A-Z]*|[A-Z]{2,}[a-z]{2,}(?:[A-Z][a-z]+)*)\d*$/;

/** As Rollup, Vite, VitePress and Astro write it: large and small letters, mixed as no word mixes them. */
function isBase64Hash(text: string): boolean {
  if (!/^[\w-]{8}$/.test(text) || !/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  return !text.split(/[-_]/).every((part) => part !== "" && word.test(part));
}
