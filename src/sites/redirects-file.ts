import { type Line, linesOf } from "./lines.ts";
import { type Match, type PathPattern, PatternTable, parsePattern } from "./path-pattern.ts";
import { ProblemList, quoted, type SiteProblem } from "./problem.ts";
import { parseTarget, type RedirectTarget } from "./redirect-target.ts";

/** Rules of one file that are used, at most. */
const maxRedirects = 5000;
/** Steps that the search for a rule takes, at most. A thousand take about 0.1 ms. */
const maxVisited = 1000;
const redirectStatuses = [301, 302, 303, 307, 308] as const;
const pageStatuses = [200, 403, 404, 410, 451] as const;

/** PageStatus is that of a rule which sends the file at its target under the address that was asked for: as a page, or as an error page. */
export type PageStatus = (typeof pageStatuses)[number];

/** RedirectStatus is what a rule answers; 3xx is a redirect. */
export type RedirectStatus = (typeof redirectStatuses)[number] | PageStatus;

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

  /** first is the rule for a path at which no file exists. `path` is decoded and has no slash at its beginning. */
  first(path: string): Match<Redirect> | undefined {
    return this.#all.size === 0 ? undefined : this.#all.first(path);
  }

  /** firstForced is the rule for a path at which a file exists. */
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
      problems.add(line.number, `there are more than ${maxRedirects} rules; those from here on are not used`);
      break;
    }
    const { rule, problem, level } = parseRule(line);
    if (problem !== undefined) problems.add(line.number, problem, level);
    if (rule !== undefined && !redirects.add(rule))
      problems.add(
        line.number,
        `the rule is not used: with it the search for a rule could take more than ${maxVisited} steps, because rules have a name and a placeholder at the same place; use a splat, or fewer placeholders`,
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
        problem: `${quoted(to)}: /node, /jsonrpc and /terminal belong to the server; a rule cannot answer in their place`,
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

/** What a rule does that its author may not expect. */
function doubtIn({ path }: RedirectTarget, status: string): string | undefined {
  if (status.startsWith("401"))
    return "401 would ask for a password, which a bucket does not have; it is 403";
  if (path.some((part) => typeof part === "string" && part.includes("*")))
    return "a * stands for itself in this target; write :splat for what the * of the path matched";
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

/** Why a target has no page here; the addresses of the rule are then answered 404. */
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
