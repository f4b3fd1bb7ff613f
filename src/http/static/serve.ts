import { STATUS_CODES } from "node:http";
import { Fault } from "../../base/fault.ts";
import type { ContentBudget } from "../../base/memory-budget.ts";
import { publicDetailOf } from "../../blobs/blob-store.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import {
  childPath,
  parseTreePath,
  pathSegment,
  splitPath,
  type TreePath,
  treePath,
} from "../../buckets/path.ts";
import type { FileEntry, FileSnapshot, PinnedReader, TreeReader } from "../../buckets/ports.ts";
import type { Bucket, BucketState } from "../../buckets/record.ts";
import type { LoadedRules } from "../../buckets/site-files.ts";
import type { Match } from "../../sites/path-pattern.ts";
import { encodePath, isPageStatus, locationOf, pathOf, type Redirect } from "../../sites/redirects-file.ts";
import { isSiteFile } from "../../sites/site-rules.ts";
import { type Compression, encodingsFor } from "../content/compression.ts";
import {
  allowedMethods,
  blobMissing,
  isBlobMissing,
  methodNotAllowed,
  plainText,
  redirect,
  serviceUnavailable,
} from "../content/plain.ts";
import { respond, respondWhole } from "../content/respond.ts";
import { maxWholeBytes, selectVariant } from "../content/variants.ts";
import type { PrivateRequest } from "./access.ts";
import { type DecodedPath, decodePath } from "./address.ts";
import { cacheKey, type MemoryCache } from "./memory-cache.ts";
import { corsHeaders, generalHeaders, siteHeaders, staticMethods } from "./site-headers.ts";

export interface StaticOptions {
  readonly cache: MemoryCache;
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

/** StaticRequest is a request for a file of a bucket, by the bucket's own route, by a host name of it or by the HTTP root. */
export interface StaticRequest extends PrivateRequest {
  /** The part of the path above the bucket's files, as it was sent; empty for the bucket's own route without a slash at its end. */
  readonly base: string;
  /** What the keys of its files in memory begin with: `base`, or what is the same for all host names of the bucket. */
  readonly keyBase: string;
  /** The path below `base`, still encoded. */
  readonly rest: string;
  readonly buckets: { filesOf(bucket: Bucket): Pick<BucketFiles, "site"> };
  /** The state of the bucket as it was read for this request, if the request must be answered by the present state. */
  readonly freshState: BucketState | undefined;
  /** Whether it shows a deploy before that is published. */
  readonly isPreview?: boolean;
  /** Throws if the files that are at the bucket's place now are not those to send. It is asked once it is certain which tree is read. */
  readonly assertPresent?: () => Promise<void>;
}

/** SiteRequest is a request with the tree that answers it. */
interface SiteRequest extends StaticRequest {
  readonly decoded: DecodedPath;
  readonly reader: PinnedReader;
  readonly site: LoadedRules;
}

/**
 * serveBucket answers for a path of a bucket, once its caller may read it: from memory, or from its store by the rules of `_redirects` and
 * `_headers`.
 */
export async function serveBucket(target: StaticRequest, options: StaticOptions): Promise<Response> {
  const { method } = target.request;
  if (method === "OPTIONS") return allowedMethods(staticMethods);
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed(staticMethods);
  if (target.base === "") return redirectToFolder(target.request);
  const decoded = decodePath(target.rest);
  if (decoded === undefined) {
    const single = decodePath(target.rest.replace(/^\/+/, "").replace(/\/{2,}/g, "/"));
    return single === undefined
      ? plainText(400, "400 Bad Request: invalid file path.")
      : movedTo(target, single.text);
  }
  const key = cacheKey(target.keyBase, decoded.text);
  // The bucket's record was read again, as every second; what is in memory is valid if it is the same.
  const cached = answerFromMemory(target, key, options);
  if (cached !== undefined) return cached;
  try {
    const files = target.buckets.filesOf(target.bucket);
    const { freshState } = target;
    // A request for the present state is not answered by what was known before.
    const usesKnown = freshState === undefined && target.assertPresent === undefined;
    return await files.site.inOneTree(
      async (reader, site) => {
        await target.assertPresent?.();
        return serveSite({ ...target, decoded, reader, site }, options);
      },
      { freshState, usesKnown },
    );
  } catch (error) {
    // While the database is away, it cannot be asked where a file is; what is in memory may still be sent for a while.
    const isAway =
      target.freshState === undefined && error instanceof Fault && error.data.reason === "unavailable";
    const known = isAway ? answerFromMemory(target, key, options) : undefined;
    return known ?? faultResponse(error);
  }
}

/**
 * Existing files come first, except before rules that are forced: the order that Netlify has. The files with the rules do not exist for
 * visitors, and no rule applies to them.
 */
async function serveSite(target: SiteRequest, options: StaticOptions): Promise<Response> {
  const { decoded, site } = target;
  if (isSiteFile(decoded.path)) return missing(target);
  const { redirects } = site.rules;
  const first = redirects.first(decoded.text);
  const forced = first?.value.isForced ? await applyRule(target, first, options) : undefined;
  if (forced !== undefined) return forced;
  const found = await findPage(target.reader, decoded, { cleanUrls: target.bucket.clean_urls });
  const isFound = found.kind === "folder" ? found.hasPage : found.kind !== "nothing";
  const rule = isFound ? redirects.firstForced(decoded.text) : first;
  const answer = rule && (await applyRule(target, rule, options));
  if (answer !== undefined) return answer;
  switch (found.kind) {
    case "file":
      return answerPage(target, { page: found, rewrites: false }, options);
    case "moved":
      return movedTo(target, found.to);
    case "folder":
      if (!decoded.slash) return redirectToFolder(target.request);
  }
  return missing(target);
}

/** Undefined for a rule that would redirect this very address to itself. */
async function applyRule(
  target: SiteRequest,
  { value: rule, captures }: Match<Redirect>,
  options: StaticOptions,
): Promise<Response | undefined> {
  const { request, base, reader, bucket, decoded } = target;
  if (!isPageStatus(rule.status)) {
    const { pathname, search } = new URL(request.url, "http://localhost");
    const location = locationOf(rule.target, captures(), {
      base,
      search,
      slash: decoded.slash && rule.pattern.splat?.isLast === true,
    });
    if (location === undefined) return missing(target);
    const isSame = rule.target.origin === undefined && isSameAddress(location, pathname);
    return isSame ? undefined : uncachedRedirect(rule.status, location);
  }
  const { status } = rule;
  // A page of another site is never fetched.
  const path = rule.target.origin === undefined ? pathOf(rule.target, captures()) : undefined;
  const content = path === undefined ? undefined : decodePath(encodePath(path));
  const page = content && (await findContent(reader, content, { cleanUrls: bucket.clean_urls }));
  if (page === undefined) return missing(target, status === 200 ? 404 : status);
  if (status !== 200)
    return errorPage(request, { reader, file: page.file, headers: generalOf(target), status });
  return answerPage(target, { page, rewrites: page.at !== decoded.text }, options);
}

function isSameAddress(location: string, pathname: string): boolean {
  return withoutSlash(location.replace(/[?#].*$/s, "")) === withoutSlash(pathname);
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

interface AnsweredPage {
  readonly page: Page;
  /** Whether a rule sends the page under another address than its own. */
  readonly rewrites: boolean;
}

async function answerPage(
  target: SiteRequest,
  { page, rewrites }: AnsweredPage,
  options: StaticOptions,
): Promise<Response> {
  const { request, keyBase, bucket, decoded, reader, site, isOwnHost } = target;
  const { file, at, dependencies } = page;
  if (bucket.public && [decoded.text, at, file.path].some((path) => site.rules.headers.isLocked(path)))
    return plainText(403, "403 Forbidden: _headers asks for a password here, which this server does not do.");
  const { cache, compression, contentBudget } = options;
  const matched = site.rules.headers.match(rewrites ? decoded.text : at, { isOwnHost });
  const own = cacheKey(keyBase, at);
  // Whatever address a rule rewrites, its answer is in memory once for each set of headers: any number of addresses may be asked for.
  const key = rewrites ? `\0rewrite\0${matched.key}\0${own}` : own;
  const cached =
    key === cacheKey(keyBase, decoded.text)
      ? undefined
      : answerFromMemory(target, key, options, site.snapshot);
  if (cached !== undefined) return cached;
  const encodings = encodingsFor(request.headers);
  const variant = await selectVariant(reader, file, { request, encodings, compression, contentBudget });
  const { representation } = variant;
  const headers = siteHeaders(representation.headers, {
    bucket,
    matched,
    path: rewrites ? undefined : file.path,
  });
  const sent = { ...representation, headers: bucket.cors ? { ...headers, ...corsHeaders } : headers };
  cache.add(
    { key, bucket, compressible: variant.compressible },
    {
      ...variant,
      representation: sent,
      dependencies: [...variant.dependencies, ...dependencies, site.snapshot],
    },
  );
  return respond(request, sent);
}

function answerFromMemory(
  { request, freshState }: StaticRequest,
  key: string,
  { cache }: StaticOptions,
  /** The rules that led to the key, of which the answer has to be too. */
  rules?: FileSnapshot,
): Response | undefined {
  if (rules !== undefined) cache.removeUnlessOf(key, rules);
  return cache.answer(request, cache.get(key), freshState === undefined ? "own" : { state: freshState });
}

function missing(target: SiteRequest, status = 404): Promise<Response> {
  return missingFile(target.request, { reader: target.reader, headers: generalOf(target), status });
}

function generalOf({ site, decoded, isOwnHost }: SiteRequest) {
  return generalHeaders(site.rules.headers.match(decoded.text, { isOwnHost }));
}

/** movedTo redirects to the address of a decoded path, which begins with a name: the location never names another host. */
function movedTo({ request, base }: StaticRequest, to: string): Response {
  return uncachedRedirect(308, `${base}${encodePath(to)}${searchOf(request)}`);
}

/** A redirect may be changed by the next deploy: browsers ask again. */
function uncachedRedirect(status: number, location: string): Response {
  return redirect(status, location, { "cache-control": "no-cache" });
}

/** redirectToFolder sends the client to the same path with a slash, so that relative links of `index.html` resolve. */
function redirectToFolder({ url }: Request): Response {
  // Without a Host header, the URL is a path alone.
  const { pathname, search } = new URL(url, "http://localhost");
  return redirect(301, `${pathname}/${search}`);
}

/** The query of a request with its `?`, or nothing. Without a Host header, its URL is a path alone, which may begin with two slashes. */
function searchOf({ url }: Request): string {
  const query = url.indexOf("?");
  return query === -1 ? "" : new URL(url.slice(query), "http://localhost").search;
}

const indexPage = pathSegment("index.html");
const pageType = ".html";

/** Page is the file that is sent for a path. */
interface Page {
  readonly kind: "file";
  readonly file: FileEntry;
  /** The path as it was asked for, in the Unicode form that the store has, with its slash. */
  readonly at: string;
  /** What else must stay as it is for this file to be the one. */
  readonly dependencies: readonly FileSnapshot[];
}

/** FoundPage is what a path leads to. */
type FoundPage =
  | Page
  /** A page whose address is another path of the bucket. */
  | { readonly kind: "moved"; readonly to: string }
  /** A folder with a page, asked for without the slash, or a folder without a page. */
  | { readonly kind: "folder"; readonly hasPage: boolean }
  | { readonly kind: "nothing" };

const nothing: FoundPage = { kind: "nothing" };

interface PageOptions {
  /** Whether `/about` is the address of `about.html`. */
  readonly cleanUrls: boolean;
}

/** findPage finds what is sent for a path: a file, the `index.html` of a folder, or with `cleanUrls` the page of that name. */
async function findPage(
  reader: TreeReader,
  { path, slash }: DecodedPath,
  { cleanUrls }: PageOptions,
): Promise<FoundPage> {
  const entry = await reader.find(path);
  if (entry?.kind === "file" && !slash) return cleanUrls ? atItsAddress(reader, entry) : pageOf(entry);
  if (entry?.kind === "folder") {
    const index = await reader.find(childPath(entry.path, indexPage));
    if (index?.kind === "file")
      return slash
        ? { ...pageOf(index), at: entry.path === "" ? "" : `${entry.path}/` }
        : { kind: "folder", hasPage: true };
  }
  const page = cleanUrls && path !== "" && entry?.kind !== "file" ? await namedPage(reader, path) : undefined;
  if (page !== undefined) {
    const at = page.path.slice(0, -pageType.length);
    const { folder: above, name } = splitPath(page.path);
    if (name === indexPage) return { kind: "moved", to: above === "" ? "" : `${above}/` };
    if (slash) return { kind: "moved", to: at };
    const folder = entry === undefined ? [] : [reader.snapshotOfMissing(childPath(entry.path, indexPage))];
    return {
      kind: "file",
      file: page,
      at,
      dependencies: [entry?.snapshot() ?? reader.snapshotOfMissing(path), ...folder],
    };
  }
  return entry?.kind === "folder" ? { kind: "folder", hasPage: false } : nothing;
}

/** findContent finds the file that a rule answers with, whichever its own address is; undefined if there is none. */
async function findContent(
  reader: TreeReader,
  { path }: DecodedPath,
  { cleanUrls }: PageOptions,
): Promise<Page | undefined> {
  if (isSiteFile(path)) return undefined;
  const entry = await reader.find(path);
  if (entry?.kind === "file") return pageOf(entry);
  const index = entry && (await reader.find(childPath(entry.path, indexPage)));
  if (index?.kind === "file") return pageOf(index);
  const page = cleanUrls && path !== "" ? await namedPage(reader, path) : undefined;
  return page && pageOf(page);
}

function pageOf(file: FileEntry): Page {
  return { kind: "file", file, at: file.path, dependencies: [] };
}

/** A page that was asked for by the name of its file has another address, unless something else has that one. */
async function atItsAddress(reader: TreeReader, file: FileEntry): Promise<FoundPage> {
  const { folder, name } = splitPath(file.path);
  if (name === indexPage) return { kind: "moved", to: folder === "" ? "" : `${folder}/` };
  if (!name.endsWith(pageType) || name === pageType) return pageOf(file);
  const clean = parseTreePath(file.path.slice(0, -pageType.length));
  if (clean === undefined) return pageOf(file);
  const other = await reader.find(clean);
  if (other === undefined) return { kind: "moved", to: clean };
  if (other.kind === "file") return { ...pageOf(file), dependencies: [other.snapshot()] };
  const index = await reader.find(childPath(other.path, indexPage));
  if (index?.kind !== "file") return { kind: "moved", to: clean };
  return { ...pageOf(file), dependencies: [index.snapshot()] };
}

async function namedPage(reader: TreeReader, path: TreePath): Promise<FileEntry | undefined> {
  const named = parseTreePath(path + pageType);
  const page = named && (await reader.find(named));
  return page?.kind === "file" ? page : undefined;
}

/** noSuchFile returns the same response whether the bucket or the file does not exist. */
export function noSuchFile(): Response {
  return plainText(404, "404 Not Found: there is no such file.");
}

/** TreeOptions is the tree that an error page is read from, and headers that it gets beside its own. */
interface TreeOptions {
  readonly reader: TreeReader;
  readonly headers?: Readonly<Record<string, string>>;
  /** 404 unless it is given. */
  readonly status?: number;
}

/** missingFile answers with the bucket's own `404.html`, or with one line. */
async function missingFile(request: Request, options: TreeOptions): Promise<Response> {
  const { reader, headers = {}, status = 404 } = options;
  const file = await reader.find(treePath("404.html"));
  return file?.kind === "file" ? errorPage(request, { reader, file, headers, status }) : errorLine(status);
}

function errorLine(status: number): Response {
  return status === 404 ? noSuchFile() : plainText(status, `${status} ${STATUS_CODES[status] ?? ""}`);
}

/** errorPage answers an error with a file of the bucket, or with one line if it is too large. */
async function errorPage(
  request: Request,
  { reader, file, headers, status }: Required<TreeOptions> & { readonly file: FileEntry },
): Promise<Response> {
  if (file.stats.size > maxWholeBytes) return errorLine(status);
  const { representation } = await selectVariant(reader, file);
  const own = {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  return respondWhole(request, { ...representation, headers: own }, status);
}

/** faultResponse answers for a file that could not be read. */
function faultResponse(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return noSuchFile();
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  if (isBlobMissing(error)) return blobMissing(`502 Bad Gateway: ${publicDetailOf(error)}.`);
  return serviceUnavailable(publicDetailOf(error));
}
