import { HeaderRules, parseHeaders } from "./headers-file.ts";
import type { SiteFile, SiteProblem } from "./problem.ts";
import { parseRedirects, Redirects } from "./redirects-file.ts";

/** SiteRules are what the `_headers` and `_redirects` of a bucket say. */
export interface SiteRules {
  readonly headers: HeaderRules;
  readonly redirects: Redirects;
  readonly problems: readonly SiteProblem[];
}

/** siteFiles are the files with rules; they are in the top folder of a bucket. */
export const siteFiles: readonly SiteFile[] = ["_headers", "_redirects"];

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
