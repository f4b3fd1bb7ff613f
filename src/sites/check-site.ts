import type { SiteFile, SiteProblem } from "./problem.ts";
import { pathOf } from "./redirect-target.ts";
import { isPageStatus, type Redirect } from "./redirects-file.ts";
import { parseSitePart, type SitePart, siteFiles, toSiteRules } from "./site-rules.ts";

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
  const found = [...problems];
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
    return `a file exists at /${pattern.segments.join("/")}, which is sent in place of this rule; write ${status}! to apply it all the same`;
  return undefined;
}

async function isPage(source: SiteSource, path: string): Promise<boolean> {
  const name = path.endsWith("/") ? path.slice(0, -1) : path;
  if (name === "") return source.isFile("index.html");
  const found = await Promise.all([name, `${name}/index.html`, `${name}.html`].map(source.isFile));
  return found.includes(true);
}
