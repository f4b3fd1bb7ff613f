import type { Captures } from "./path-pattern.ts";

/** A part of a target: literal text, or what a placeholder matched. */
type Part = string | { readonly placeholder: string };

/** RedirectTarget is where a rule of `_redirects` leads. */
export interface RedirectTarget {
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
export function parseTarget(text: string, names: ReadonlySet<string>): RedirectTarget | string {
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
 * pathOf is the path of a target, decoded, without the slash at its beginning, for a file of the bucket. Undefined if it is too long
 * for an address.
 */
export function pathOf({ path }: RedirectTarget, captures: Captures): string | undefined {
  return filled(path, captures, { literal: decodeURIComponent, matched: (text) => text })?.slice(1);
}

/**
 * locationOf is the value of a Location header. `base` is where the bucket's files begin, with a slash at its end; `search` is
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
    filled(parts, captures, { literal: (value) => value, matched });
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
function filled(
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
    return "a placeholder cannot be in the host of a target: anybody could choose where it leads";
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
