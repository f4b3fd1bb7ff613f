import { Fault } from "../../base/fault.ts";
import { decimalNumber } from "../../base/numbers.ts";
import type { LockHolder } from "../../buckets/metadata/locks.ts";
import { type TreePath, treePath, treeRoot } from "../../buckets/path.ts";
import { type FileEntry, ParentMissing, type ResolvedPath } from "../../buckets/ports.ts";
import { assertLists, type ConditionList, type WriteConditions } from "../../buckets/write-conditions.ts";
import { writeConditionsIn } from "../content/conditions.ts";
import type { OpenedBucket, ReceivedRequest } from "../pipeline.ts";
import { HttpError } from "../request/http-error.ts";

/** DavRequest is one request whose caller is authorised, as the verbs see it. */
export interface DavRequest extends OpenedBucket {
  readonly received: ReceivedRequest<unknown>;
  readonly request: Request;
  readonly path: TreePath;
  /** Whether the URL ends in a slash, as a folder's does. */
  readonly slash: boolean;
  /** Whether a file is put also where the folders above it are missing. RFC 4918 wants that refused for PUT. */
  readonly makesParents: boolean;
}

export type Depth = 0 | 1 | "infinity";

/** depthOf reads the Depth header: RFC 4918 §10.2. */
export function depthOf(
  { request }: Pick<DavRequest, "request">,
  allowed: readonly Depth[],
  defaultDepth: Depth,
): Depth {
  const header = request.headers.get("depth")?.trim().toLowerCase();
  if (header === undefined) return defaultDepth;
  const depth = header === "0" ? 0 : header === "1" ? 1 : header === "infinity" ? header : undefined;
  if (depth === undefined || !allowed.includes(depth))
    throw new HttpError(400, `Depth must be ${allowed.join(" or ")} here`);
  return depth;
}

/** requireEntry returns what exists at the resolved path; 404 if nothing does, or if a file is named with a slash at its end. */
export function requireEntry({ slash }: DavRequest, { entry }: Pick<ResolvedPath, "entry">): FileEntry {
  if (entry === undefined || (entry.kind === "file" && slash))
    throw new HttpError(404, "there is no such file or folder");
  return entry;
}

/** requireParent throws 409 unless the parent folder exists: RFC 4918 §9.7.1. */
export function requireParent({ path, parent }: ResolvedPath): void {
  if (path !== treeRoot && parent?.kind !== "folder") throw new ParentMissing(path);
}

/** modifiedOf reads `X-OC-Mtime`: seconds since 1970, which some clients send to keep a file's time. 400 for anything else. */
export function modifiedOf({ request }: Pick<DavRequest, "request">): Date | undefined {
  const text = request.headers.get("x-oc-mtime");
  if (text === null) return undefined;
  const seconds = decimalNumber(text);
  const time = seconds === undefined ? undefined : fileTime(seconds * 1000);
  if (time === undefined)
    throw new HttpError(
      400,
      "X-OC-Mtime is not a number of seconds since 1970, or not of the years 1 to 9999",
    );
  return time;
}

const [firstMs, lastMs] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/** fileTime returns the time of a file; undefined if `Last-Modified` cannot name it: RFC 9110 §5.6.7. */
export function fileTime(ms: number): Date | undefined {
  return ms >= firstMs && ms <= lastMs ? new Date(ms) : undefined;
}

export const webdavPrefix = "/node/static-webdav";

/** DavPath is a path inside a bucket, as a URL names it. */
export interface DavPath {
  readonly bucket: string;
  readonly path: TreePath;
  /** Whether the URL ends in a slash, as a folder's does. */
  readonly slash: boolean;
}

/** parseDavPath percent-decodes each segment once and ignores empty ones. Undefined if the path names no bucket. */
export function parseDavPath(rawPath: string, prefix = webdavPrefix): DavPath | undefined {
  if (rawPath.includes("#")) throw new HttpError(400, "a request's path must not contain a fragment (#)");
  if (rawPath !== prefix && !rawPath.startsWith(`${prefix}/`)) return undefined;
  try {
    const names = namesIn(rawPath.slice(prefix.length));
    if (names === "") return undefined;
    const end = names.indexOf("/");
    if (end < 0) return { bucket: names, path: treeRoot, slash: true };
    const path = treePath(names.slice(end + 1));
    return { bucket: names.slice(0, end), path, slash: rawPath.endsWith("/") };
  } catch (error) {
    if (error instanceof URIError) throw new HttpError(400, "the path has an invalid percent-encoding");
    if (error instanceof Fault) throw new HttpError(400, error.detail);
    throw error;
  }
}

/** The segments of a path, decoded, with one slash between them. */
function namesIn(path: string): string {
  // Most paths need no decoding, which takes longer than the rest.
  if (!path.includes("%") && !path.includes("//")) return path.slice(1, path.endsWith("/") ? -1 : undefined);
  const segments = path
    .split("/")
    .filter((segment) => segment !== "")
    .map(decodeURIComponent);
  if (segments.some((segment) => segment.includes("/")))
    throw new HttpError(400, "a name must not contain a slash");
  return segments.join("/");
}

/** pathOfUrl returns the path of a URL or of a path alone. Scheme and host are ignored: a proxy may have changed them. */
function pathOfUrl(url: string): string {
  return url
    .trim()
    .replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, "")
    .replace(/\?.*$/, "");
}

/** parseDestination reads the Destination header of COPY and MOVE, which must be in the same bucket. */
export function parseDestination(header: string | null, bucket: string): DavPath {
  if (header === null) throw new HttpError(400, "the Destination header is missing");
  const path = pathOfUrl(header);
  if (!path.startsWith("/")) throw new HttpError(400, "Destination is not a URL or a path");
  const destination = parseDavPath(path);
  if (destination?.bucket !== bucket)
    throw new HttpError(502, "Destination is outside this bucket; copy through the client instead");
  return destination;
}

/** hrefOf returns the path of a resource, fully encoded. A folder's ends in a slash. */
export function hrefOf(
  bucket: string,
  path: TreePath,
  kind: FileEntry["kind"],
  prefix = webdavPrefix,
): string {
  const encoded = path === treeRoot ? "" : `/${encodePath(path)}`;
  return `${prefix}/${bucket}${encoded}${kind === "folder" ? "/" : ""}`;
}

/** Most paths consist of characters that need no encoding. */
function encodePath(path: TreePath): string {
  return /^[\w/.-]*$/.test(path) ? path : path.split("/").map(encodeURIComponent).join("/");
}

/**
 * writeConditions reads the preconditions of a request and the lock tokens that it submits, for a write to check. `headers` may be
 * others than its own.
 */
export function writeConditions(
  { request, bucket, caller, grant }: DavRequest,
  headers = request.headers,
): WriteConditions & { readonly holder: LockHolder } {
  const lists = listsIn(headers, bucket.name);
  const submitted = (lists ?? []).flatMap(({ conditions }) =>
    conditions.flatMap(({ negated, state }) => (!negated && "token" in state ? [state.token] : [])),
  );
  const holder = { tokens: new Set(submitted), key: caller.isSuper ? undefined : caller.key };
  return { grant, holder, lists, ...writeConditionsIn(headers) };
}

/**
 * assertIf checks the If header of a method that reads. One that names lock tokens alone is not judged: nothing is changed, and some
 * clients send the token of a file with every request about the folders above it.
 */
export async function assertIf({ request, bucket, path, files }: DavRequest): Promise<void> {
  const lists = listsIn(request.headers, bucket.name);
  const hasTag = lists?.some(({ conditions }) => conditions.some(({ state }) => "etag" in state));
  if (lists !== undefined && hasTag) await assertLists(lists, path, files);
}

/** The If header, its resources as paths of the bucket. */
function listsIn(headers: Headers, bucket: string): ConditionList<TreePath | null>[] | undefined {
  return parseIf(headers.get("if"))?.map(({ resource, conditions }) => ({
    resource: resource === undefined ? undefined : toPath(resource, bucket),
    conditions,
  }));
}

/** Null for a resource outside the bucket. */
function toPath(url: string, bucket: string): TreePath | null {
  const target = parseDavPath(pathOfUrl(url));
  return target?.bucket === bucket ? target.path : null;
}

/** parseIf reads an If header, RFC 4918 §10.4: lists of which one must hold. Undefined without the header. */
export function parseIf(header: string | null): readonly ConditionList<string>[] | undefined {
  if (header === null) return undefined;
  const reader = new Reader(header);
  const lists: ConditionList<string>[] = [];
  const tagged = reader.sees("<");
  while (!reader.done()) {
    const resource = tagged ? reader.between("<", ">") : undefined;
    do lists.push({ resource, conditions: parseList(reader) });
    while (reader.sees("("));
  }
  if (lists.length === 0) throw malformed();
  return lists;
}

function parseList(reader: Reader): ConditionList<string>["conditions"] {
  reader.take("(");
  const conditions: ConditionList<string>["conditions"][number][] = [];
  while (!reader.sees(")")) {
    const negated = reader.takeNot();
    if (reader.sees("<")) conditions.push({ negated, state: { token: reader.between("<", ">") } });
    else conditions.push({ negated, state: { etag: reader.tag() } });
  }
  reader.take(")");
  if (conditions.length === 0) throw malformed();
  return conditions;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#space();
  }

  done(): boolean {
    return this.#at >= this.#text.length;
  }

  sees(word: string): boolean {
    return this.#text.startsWith(word, this.#at);
  }

  take(word: string): void {
    if (!this.sees(word)) throw malformed();
    this.#at += word.length;
    this.#space();
  }

  takeNot(): boolean {
    if (this.#text.slice(this.#at, this.#at + 3).toLowerCase() !== "not") return false;
    this.#at += 3;
    this.#space();
    return true;
  }

  between(open: string, close: string): string {
    if (!this.sees(open)) throw malformed();
    const end = this.#text.indexOf(close, this.#at);
    if (end === -1) throw malformed();
    const inside = this.#text.slice(this.#at + open.length, end);
    this.#at = end + close.length;
    this.#space();
    return inside.trim();
  }

  /** An entity tag in brackets; its quotes allow brackets in it. */
  tag(): string {
    this.take("[");
    const found = /^(?:W\/)?"[^"]*"/.exec(this.#text.slice(this.#at))?.[0];
    if (found === undefined) throw malformed();
    this.#at += found.length;
    this.#space();
    this.take("]");
    return found;
  }

  #space(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
  }
}

function malformed(): HttpError {
  return new HttpError(400, "the If header is malformed");
}
