// This folder reads `_headers` and `_redirects`, the files by which a bucket says how its other files are served. It
// works on texts alone; buckets/site-files.ts reads the files. headers-file.ts and redirects-file.ts parse one file
// each; both use path-pattern.ts to match paths, and problem.ts to report lines that do not do what their author wants.
// This file puts the rules of a bucket together, and checks a site as a whole. headers-file.ts also recognises names
// that contain a hash of their content, which may be cached for a year.

import { HeaderRules, parseHeaders } from "./headers-file.ts";
import type { PathPattern } from "./path-pattern.ts";
import type { SiteFile, SiteProblem } from "./problem.ts";
import { isPageStatus, parseRedirects, pathOf, type Redirect, Redirects } from "./redirects-file.ts";

/** SiteRules are what the `_headers` and `_redirects` of a bucket say. */
export interface SiteRules {
  readonly headers: HeaderRules;
  readonly redirects: Redirects;
  readonly problems: readonly SiteProblem[];
}

/** siteFiles are the files with rules; they are in the top folder of a bucket. */
export const siteFiles: readonly SiteFile[] = ["_headers", "_redirects"];

const siteFileNames: ReadonlySet<string> = new Set(siteFiles);

/** isSiteFile returns whether a path is that of a file with rules. Some disks do not distinguish upper and lower case. */
export function isSiteFile(path: string): boolean {
  return path.startsWith("_") && siteFileNames.has(path.toLowerCase());
}

/** SitePart is what one of the files says. */
export type SitePart = Partial<SiteRules> & Pick<SiteRules, "problems">;

export function parseSitePart(file: SiteFile, content: Uint8Array): SitePart {
  return file === "_headers" ? parseHeaders(content) : parseRedirects(content);
}

const noHeaders = new HeaderRules([]);
const noRedirects = new Redirects();

/** toSiteRules puts the rules of the files together that exist. */
export function toSiteRules(parts: readonly SitePart[]): SiteRules {
  return {
    headers: parts.find(({ headers }) => headers !== undefined)?.headers ?? noHeaders,
    redirects: parts.find(({ redirects }) => redirects !== undefined)?.redirects ?? noRedirects,
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** SiteSource is a folder or a bucket whose rules are checked. */
export interface SiteSource {
  /** The content of a file in the top folder; undefined if there is none. */
  read(name: SiteFile): Promise<Uint8Array | undefined>;
  isFile(path: string): Promise<boolean>;
}

/** checkSite returns what is wrong with the `_headers` and `_redirects` of a site, by file and line. */
export async function checkSite(source: SiteSource): Promise<SiteProblem[]> {
  const parts: SitePart[] = [];
  for (const name of siteFiles) {
    const content = await source.read(name);
    if (content !== undefined) parts.push(parseSitePart(name, content));
  }
  const { redirects, problems } = toSiteRules(parts);
  const found = [...problems, ...neverApplied(redirects.rules)];
  for (let at = 0; at < redirects.rules.length; at += rulesAtOnce) {
    const rules = redirects.rules.slice(at, at + rulesAtOnce);
    const doubts = await Promise.all(rules.map((rule) => doubtIn(rule, source)));
    for (const [index, { line }] of rules.entries()) {
      const why = doubts[index];
      if (why !== undefined) found.push({ file: "_redirects", line, level: "warning", why });
    }
  }
  return found.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

/** Rules whose files are looked for at the same time: a store may be far away, and a site has thousands of rules. */
const rulesAtOnce = 64;

const noCaptures = new Map<string, string>();

/** What the files of the site say about a rule: a page that does not exist, or a file that the rule does not replace. */
async function doubtIn({ pattern, target, status, isForced }: Redirect, source: SiteSource) {
  const isLiteral = target.path.every((part) => typeof part === "string");
  if (isPageStatus(status) && isLiteral && !(await isPage(source, pathOf(target, noCaptures))))
    return `there is no file ${target.path.join("")} to answer with`;
  const isExact = pattern.splat === undefined && pattern.placeholders.length === 0;
  if (!isForced && isExact && (await isPage(source, pattern.segments.join("/"))))
    return `a file exists at /${pattern.segments.join("/")}, which is sent instead; write ${status}! to apply the rule anyway`;
  const isOwnPage = isExact && isForced && isLiteral && target.origin === undefined;
  const path = (isOwnPage ? pathOf(target, noCaptures) : undefined) ?? "";
  if (withoutEnding(path) === pattern.segments.join("/") && (await source.isFile(path)))
    return `with clean URLs /${path} is redirected to this address, which the rule redirects back: an endless loop`;
  return undefined;
}

/** The path that a page is redirected to with clean URLs, without slashes around it. */
function withoutEnding(path: string): string | undefined {
  return path.endsWith(".html") ? path.replace(/(?:^|\/)index\.html$|\.html$/, "") : undefined;
}

/** Rules below another one that applies wherever they could. */
function* neverApplied(rules: readonly Redirect[]): Generator<SiteProblem> {
  const above = new Map<string, Redirect>();
  for (const rule of rules) {
    const [own, every] = [keyOf(rule.pattern), everyPath].map((key) => above.get(key + rule.isForced));
    const first = own ?? every;
    // With and without a slash at its end a path is the same here, so generators write a rule twice.
    if (first !== undefined && !answersAs(first, rule)) {
      const match = own === undefined ? "matches every path" : "has the same path";
      const why = `line ${first.line} ${match} and comes first: this rule is never applied`;
      yield { file: "_redirects", line: rule.line, level: "warning", why };
    }
    // Where no file exists, a rule that is not forced applies before a forced one below it; where one exists, it does not.
    for (const isForced of rule.isForced ? [false, true] : [false]) {
      const key = keyOf(rule.pattern) + isForced;
      if (!above.has(key)) above.set(key, rule);
    }
  }
}

function answersAs(first: Redirect, { target, status }: Redirect): boolean {
  return first.status === status && Bun.deepEquals(first.target, target);
}

/** The same for two patterns that differ in the names of their placeholders only. */
function keyOf({ segments, splat }: Pick<PathPattern, "segments" | "splat">): string {
  return JSON.stringify([
    segments.map((name) => name ?? null),
    splat && [splat.before, splat.between, splat.behind],
  ]);
}

const everyPath = keyOf({ segments: [], splat: { before: "", between: [], behind: "", isLast: true } });

async function isPage(source: SiteSource, path: string | undefined): Promise<boolean> {
  if (path === undefined) return false;
  const name = path.endsWith("/") ? path.slice(0, -1) : path;
  if (name === "") return source.isFile("index.html");
  const found = await Promise.all([name, `${name}/index.html`, `${name}.html`].map(source.isFile));
  return found.includes(true);
}
