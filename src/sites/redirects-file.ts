import { type Captures, type Match, type PathPattern, PatternTable, parsePattern } from "./path-pattern.ts";
import { type Line, linesOf, ProblemList, quoted, type SiteProblem } from "./problem.ts";

/** Rules of one file that are used, at most. */
const maxRedirects = 5000;
/** Steps that the search for a rule takes, at most. A thousand take about 0.1 ms. */
const maxVisited = 1000;
const redirectStatuses = [301, 302, 303, 307, 308] as const;
const pageStatuses = [200, 403, 404, 410, 451] as const;

/** PageStatus is that of a rule which sends the file at its target under the address that was asked for: as a page, or as an error page. */
type PageStatus = (typeof pageStatuses)[number];

/** RedirectStatus is what a rule answers; 3xx is a redirect. */
type RedirectStatus = (typeof redirectStatuses)[number] | PageStatus;

/** Redirect is one rule of `_redirects`. */
export interface Redirect {
  readonly line: number;
  readonly pattern: PathPattern;
  readonly target: RedirectTarget;
  readonly status: RedirectStatus;
  /** Whether it applies also where a file exists (`301!`). */
  readonly isForced: boolean;
}

export function isPageStatus(status: RedirectStatus): status is PageStatus {
  return pageStatuses.some((page) => page === status);
}

/** Redirects are the rules of a `_redirects` file. The first one that matches is the one that applies. */
export class Redirects {
  readonly #rules: Redirect[] = [];
  readonly #all = new PatternTable<Redirect>({ maxVisited });
  readonly #forced = new PatternTable<Redirect>();

  get rules(): readonly Redirect[] {
    return this.#rules;
  }

  /** add adds a rule. False if the search for a rule would take too long with it; it is not added. */
  add(rule: Redirect): boolean {
    if (!this.#all.add(rule.pattern, rule)) return false;
    if (rule.isForced) this.#forced.add(rule.pattern, rule);
    this.#rules.push(rule);
    return true;
  }

  /** first returns the rule for a path at which no file exists. `path` is decoded and has no slash at its beginning. */
  first(path: string): Match<Redirect> | undefined {
    return this.#all.size === 0 ? undefined : this.#all.first(path);
  }

  /** firstForced returns the rule for a path at which a file exists. */
  firstForced(path: string): Match<Redirect> | undefined {
    return this.#forced.size === 0 ? undefined : this.#forced.first(path);
  }
}

/** parseRedirects reads a `_redirects` file: a rule a line, `path target [status]`, as Netlify and Cloudflare Pages have them. */
export function parseRedirects(content: Uint8Array): {
  readonly redirects: Redirects;
  readonly problems: readonly SiteProblem[];
} {
  const problems = new ProblemList("_redirects");
  const redirects = new Redirects();
  for (const line of linesOf(content, problems)) {
    if (redirects.rules.length === maxRedirects) {
      problems.add(
        line.number,
        `there are more than ${maxRedirects} rules; this one and all after it are ignored`,
      );
      break;
    }
    const { rule, problem, level } = parseRule(line);
    if (problem !== undefined) problems.add(line.number, problem, level);
    if (rule !== undefined && !redirects.add(rule))
      problems.add(
        line.number,
        `the rule is ignored: matching could take more than ${maxVisited} steps, because rules have a name and a placeholder at the same position. Use a splat, or fewer placeholders`,
      );
  }
  return { redirects, problems: problems.found };
}

interface ParsedRule {
  /** Undefined if the line is left out. */
  readonly rule?: Redirect;
  readonly problem?: string | undefined;
  readonly level?: SiteProblem["level"];
}

function parseRule({ number, text }: Line): ParsedRule {
  const fields = fieldsOf(text);
  if (typeof fields === "string") return { problem: fields };
  const { from, to, status, conditions } = fields;
  const pattern = parsePattern(from, { maxStars: 1 });
  if (typeof pattern === "string") return { problem: `${quoted(from)}: ${pattern}` };
  const code = parseStatus(status);
  if (typeof code === "string") return { problem: code };
  if (conditions !== "")
    return {
      problem: `${quoted(conditions)}: conditions by country, language, role or cookie are not supported`,
    };
  const names = new Set(pattern.placeholders.map(({ name }) => name));
  if (pattern.splat !== undefined) names.add("splat");
  const target = parseTarget(pattern.splat === undefined ? to : withSplat(to), names);
  if (typeof target === "string") return { problem: `${quoted(to)}: ${target}` };
  const rule: Redirect = { line: number, pattern, target, ...code };
  if (isPageStatus(rule.status)) {
    if (leadsToServer(target))
      return {
        problem: `${quoted(to)}: /node, /jsonrpc and /terminal belong to the server; a rule cannot replace them`,
      };
    // Without the rule, the next one would answer, often with the start page of an application that asked for data.
    const missing = problemInSource(target);
    if (missing !== undefined) return { rule, problem: `${quoted(to)}: ${missing}` };
  } else if (leadsToItself(pattern, target))
    return {
      problem: "the rule would redirect an address to itself; a slash at the end makes no difference",
    };
  return { rule, problem: doubtIn(target, status), level: "warning" };
}

/** Generators (Astro, Nitro) write `/blog/*` for `/blog/:splat`, also with two stars. */
function withSplat(to: string): string {
  return to.includes(":splat") ? to : to.replace(/\/\*+(?=\/|$)/, "/:splat");
}

/** doubtIn describes what a rule does that its author may not expect. */
function doubtIn({ path }: RedirectTarget, status: string): string | undefined {
  if (status.startsWith("401"))
    return "401 would ask for a password, which a bucket does not have; it is 403";
  if (path.some((part) => typeof part === "string" && part.includes("*")))
    return "the * in this target is literal; write :splat for the part that the * of the path matched";
  return undefined;
}

/** The fields of a line, which ends where a comment begins. */
function fieldsOf(text: string) {
  const all = text.split(/[ \t]+/);
  const comment = all.findIndex((field) => field.startsWith("#"));
  const [from = "", ...others] = comment === -1 ? all : all.slice(0, comment);
  if (/^https?:\/\//i.test(from))
    return "a rule for one host name is not supported: write the path alone; a bucket of its own can redirect from another host name";
  if (others.length === 0) return "a rule is a path, a target and a status, such as /old /new 301";
  const [first = ""] = others;
  if (/^[\w-]+=/.test(first))
    return "a rule that depends on the query is not supported; the query is passed along to the target";
  // Netlify's `/docs/* 200` is short for `/docs/* /docs/:splat 200`.
  const isShort = /^200!?$/.test(first) && from.endsWith("/*");
  const [to = "", status = "301", ...conditions] = isShort
    ? [from.replace(/\*$/, ":splat"), ...others]
    : others;
  return { from, to, status, conditions: conditions.join(" ") };
}

function parseStatus(text: string): Pick<Redirect, "status" | "isForced"> | string {
  const isForced = text.endsWith("!");
  const number = isForced ? text.slice(0, -1) : text;
  if (number === "401") return { status: 403, isForced };
  const status = [...redirectStatuses, ...pageStatuses].find((code) => String(code) === number);
  if (status !== undefined) return { status, isForced };
  return `${quoted(text)}: a status is one of ${[...redirectStatuses, ...pageStatuses].join(", ")}, with ! to apply also where a file exists`;
}

/** Addresses of the server itself, which no bucket has. */
const ofServer = /^\/(?:node|jsonrpc|terminal)(?:\/|$)/;

function leadsToServer({ origin, path: [first] }: RedirectTarget): boolean {
  return origin === undefined && typeof first === "string" && ofServer.test(first);
}

/** problemInSource describes why a target has no page here; the addresses of the rule are then answered 404. */
function problemInSource({ origin, path: [first] }: RedirectTarget): string | undefined {
  if (origin !== undefined)
    return "the server does not fetch pages from other sites, so these addresses are 404; redirect there with 301 or 302";
  if (typeof first === "string" && first.startsWith("/.netlify/"))
    return "the server does not run functions, so these addresses are 404";
  return undefined;
}

/** Whether a path without placeholders is its own target. */
function leadsToItself({ segments, placeholders, splat }: PathPattern, target: RedirectTarget): boolean {
  const { origin, path, query, fragment } = target;
  if (origin !== undefined || query !== undefined || fragment.length > 0) return false;
  if (splat !== undefined || placeholders.length > 0) return false;
  const text = path.map((part) => (typeof part === "string" ? decodeURIComponent(part) : "")).join("");
  return text.replace(/^\/|\/$/g, "") === segments.join("/");
}

/** A part of a target: literal text, or what a placeholder matched. */
type Part = string | { readonly placeholder: string };

/** RedirectTarget is where a rule of `_redirects` leads. */
interface RedirectTarget {
  /** Scheme and host; undefined for a path of the bucket. */
  readonly origin: string | undefined;
  /** The path with its slash, or what follows the origin. Literal text is percent-encoded. */
  readonly path: readonly Part[];
  /** The query with its `?`; undefined if there is none, so that the one of the request is passed along. */
  readonly query: readonly Part[] | undefined;
  /** The fragment with its `#`, or nothing. */
  readonly fragment: readonly Part[];
}

/** The length of an address that a target makes of a path, at most: browsers and proxies refuse more. */
const maxTargetChars = 16 * 1024;

const originForm = /^https?:\/\/[^/?#]*/i;

/** parseTarget returns what is wrong with the text, if it is not a target. `names` are the placeholders of the rule's path. */
function parseTarget(text: string, names: ReadonlySet<string>): RedirectTarget | string {
  const origin = originForm.exec(text)?.[0];
  if (origin === undefined && !text.startsWith("/"))
    return "a target begins with /, or with https:// for another site";
  if (text.startsWith("//") || text.startsWith("/\\"))
    return "a target that begins with // names no scheme: write https://";
  const wrongOrigin = origin === undefined ? undefined : problemInOrigin(origin);
  if (wrongOrigin !== undefined) return wrongOrigin;
  const { path, query, fragment } = split(text.slice(origin?.length ?? 0));
  const unknown = /\/:([A-Za-z]\w*)/g;
  for (const [, name = ""] of path.matchAll(unknown))
    if (!names.has(name)) return `the target has :${name}, which the path does not have`;
  if (path.split("/").some((name) => name === "." || name === ".."))
    return "a target has no . and no .. as a name";
  if (origin === undefined && !isDecodable(path)) return "the target has an invalid percent-encoding";
  return {
    origin,
    path: partsOf(path === "" ? "/" : path, names),
    query: query === undefined ? undefined : partsOf(query, names),
    fragment: partsOf(fragment, names),
  };
}

/**
 * pathOf returns the path of a target, decoded, without the slash at its beginning, for a file of the bucket. Undefined if it is too long
 * for an address.
 */
export function pathOf({ path }: RedirectTarget, captures: Captures): string | undefined {
  return fillTemplate(path, captures, { literal: decodeURIComponent, matched: (text) => text })?.slice(1);
}

/**
 * locationOf returns the value of a Location header. `base` is where the bucket's files begin, with a slash at its end; `search` is
 * the query of the request, with its `?`, or nothing. `slash` is whether what the splat matched ends with a slash, which captures
 * do not have. Undefined if it is too long for an address.
 */
export function locationOf(
  target: RedirectTarget,
  captures: Captures,
  {
    base,
    search,
    slash = false,
  }: { readonly base: string; readonly search: string; readonly slash?: boolean },
): string | undefined {
  const text = (parts: readonly Part[], matched: (value: string) => string) =>
    fillTemplate(parts, captures, { literal: (value) => value, matched });
  const end = slash && endsWithSplat(target) && captures.get("splat") !== "" ? "/" : "";
  const path = text(target.path, encodePath);
  const query = target.query === undefined ? search : text(target.query, encodeURIComponent);
  const fragment = text(target.fragment, encodeURIComponent);
  if (path === undefined || query === undefined || fragment === undefined) return undefined;
  if (target.origin !== undefined) return `${target.origin}${path}${end}${query}${fragment}`;
  // Two slashes at the beginning would name a host: what a visitor sends must not lead to another site.
  return `${base}${`${path}${end}`.replace(/^\/+/, "")}${query}${fragment}`;
}

/** Undefined above `maxTargetChars`, which is found out before the parts are put together: a target may repeat a long text often. */
function fillTemplate(
  parts: readonly Part[],
  captures: Captures,
  {
    literal,
    matched,
  }: { readonly literal: (text: string) => string; readonly matched: (text: string) => string },
): string | undefined {
  let text = "";
  for (const part of parts) {
    const own = typeof part === "string" ? part : (captures.get(part.placeholder) ?? "");
    if (text.length + own.length > maxTargetChars) return undefined;
    text += typeof part === "string" ? literal(own) : matched(own);
  }
  return text;
}

function endsWithSplat({ path }: RedirectTarget): boolean {
  const last = path.at(-1);
  return typeof last === "object" && last.placeholder === "splat";
}

/** encodePath percent-encodes each name of a path. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** A placeholder in the host would let any visitor choose the site. */
function problemInOrigin(origin: string): string | undefined {
  if (/:[A-Za-z]/.test(origin.slice(origin.indexOf("//"))) || origin.includes("*"))
    return "a placeholder cannot be in the host of a target: anyone could choose where it leads";
  if (origin.includes("@")) return "a target has no user name and no password";
  return URL.canParse(origin) ? undefined : "the target has an invalid host";
}

function split(text: string) {
  const hash = text.indexOf("#");
  const beforeHash = hash === -1 ? text : text.slice(0, hash);
  const question = beforeHash.indexOf("?");
  return {
    path: question === -1 ? beforeHash : beforeHash.slice(0, question),
    query: question === -1 ? undefined : beforeHash.slice(question),
    fragment: hash === -1 ? "" : text.slice(hash),
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Cuts a text at the placeholders that the rule has; other colons are literal. */
function partsOf(text: string, names: ReadonlySet<string>): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: name = "" } of text.matchAll(/:([A-Za-z]\w*)/g)) {
    if (!names.has(name)) continue;
    if (index > end) parts.push(encoded(text.slice(end, index)));
    parts.push({ placeholder: name });
    end = index + whole.length;
  }
  if (end < text.length) parts.push(encoded(text.slice(end)));
  return parts;
}

/** Percent-encodes what an address cannot contain, and leaves what is encoded already. */
function encoded(text: string): string {
  return text.replace(/[^\x21-\x7e]+|["<>\\^`{|}]+/g, encodeURIComponent);
}
