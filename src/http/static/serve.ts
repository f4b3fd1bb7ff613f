import { Fault } from "../../base/fault.ts";
import { type BucketKey, httpRoot } from "../../buckets/bucket-cache.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { childPath, pathSegment } from "../../buckets/path.ts";
import type { Bucket, BucketState } from "../../buckets/record.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import type { Console } from "../console/console.ts";
import { isRootWorker, refuseWorker } from "../console/service-worker.ts";
import type { Compression } from "../content/compression.ts";
import type { ContentBudget } from "../content/content-budget.ts";
import { encodingsFor } from "../content/encoding.ts";
import { allowedMethods, methodNotAllowed, notFound, plainText } from "../content/plain.ts";
import { selectVariant } from "../content/variants.ts";
import { cacheKey } from "./cache-entries.ts";
import { staticMethods, withCors } from "./cors.ts";
import { type DecodedPath, decodePath } from "./decode-path.ts";
import { faultResponse, missingFile, noSuchFile } from "./error-responses.ts";
import type { MemoryCache } from "./memory-cache.ts";
import { placeholderPage } from "./placeholder-page.ts";
import { wantsPresentState } from "./present-state.ts";

export interface StaticOptions {
  readonly cache: MemoryCache;
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

export interface BucketRouteOptions {
  readonly acquire: () => Lease<Services>;
  readonly static: StaticOptions;
  readonly console: Console;
}

/** StaticRequest is a request for a file of a bucket, by the bucket's own route or by the HTTP root. */
interface StaticRequest {
  readonly request: Request;
  /** The part of the path above the bucket's files, as it was sent. */
  readonly base: string;
  /** The path below `base`, still encoded. */
  readonly rest: string;
  readonly bucket: Bucket;
  readonly buckets: Buckets;
  /** What a look for this request found, if it must be answered by the present state. */
  readonly found: BucketState | undefined;
}

export const staticPrefix = "/node/static/";
const indexPage = pathSegment("index.html");

/** serveStatic answers for a file of a bucket below `/node/static/`: `{name}`, `{name}/` and `{name}/{path}`. */
export function serveStatic(
  request: Request,
  path: string,
  options: BucketRouteOptions,
): Response | Promise<Response> {
  const base = path.slice(0, path.indexOf("/", staticPrefix.length) + 1);
  const key = keyOf(base, path);
  return options.static.cache.answerFor(request, key) ?? bucketRoute(request, { base, path }, options);
}

/** serveRoot answers for every path without a route of its own: the bucket that is the HTTP root, or the placeholder page at `/`. */
export function serveRoot(
  request: Request,
  path: string,
  options: BucketRouteOptions,
): Response | Promise<Response> {
  // The script of a service worker in the top folder of the HTTP root would control the console too.
  const isRefused = options.console.isOn() && isRootWorker(request, path);
  const cached = isRefused ? undefined : options.static.cache.answerFor(request, keyOf("/", path), path);
  return cached ?? rootRoute(request, path, { ...options, isRefused });
}

/** The key of a path as it was sent. A path that cannot be decoded has no file, and nothing is cached under it. */
function keyOf(base: string, path: string): string {
  const decoded = path.includes("%") ? decodePath(path.slice(base.length)) : undefined;
  return decoded === undefined ? path : cacheKey(base, decoded.text);
}

async function bucketRoute(
  request: Request,
  { base, path }: { readonly base: string; readonly path: string },
  options: BucketRouteOptions,
): Promise<Response> {
  const name = base === "" ? path.slice(staticPrefix.length) : base.slice(staticPrefix.length, -1);
  const { services, release } = options.acquire();
  try {
    const { buckets } = services;
    const { bucket, found } = await recordFor(request, name, buckets);
    if (bucket === undefined || !bucket.enable)
      return request.method === "OPTIONS" ? allowedMethods(staticMethods) : noSuchFile();
    if (base === "" && (request.method === "GET" || request.method === "HEAD"))
      return withCors(bucket, request, redirectToFolder(request));
    const target = { request, base, rest: path.slice(base.length), bucket, buckets, found };
    return withCors(bucket, request, await serveBucket(target, options.static));
  } finally {
    release();
  }
}

async function rootRoute(
  request: Request,
  path: string,
  options: BucketRouteOptions & { readonly isRefused: boolean },
): Promise<Response> {
  const { services, release } = options.acquire();
  try {
    const { buckets } = services;
    const { bucket, found } = await recordFor(request, httpRoot, buckets);
    if (bucket?.enable) {
      if (options.isRefused) return refuseWorker();
      const target = { request, base: "/", rest: path.slice(1), bucket, buckets, found };
      return withCors(bucket, request, await serveBucket(target, options.static));
    }
  } finally {
    release();
  }
  return path === "/" ? placeholderPage({ console: options.console.isOn() }) : notFound();
}

async function serveBucket(target: StaticRequest, options: StaticOptions): Promise<Response> {
  const { method } = target.request;
  if (method === "OPTIONS") return allowedMethods(staticMethods);
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed(staticMethods);
  const decoded = decodePath(target.rest);
  if (decoded === undefined) return plainText(400, "400 Bad Request: invalid file path.");
  const key = cacheKey(target.base, decoded.text);
  // The bucket's record was read again, as every second; what is in memory is valid if it is the same.
  const cached = answerFromMemory(target, key, options);
  if (cached !== undefined) return cached;
  try {
    return await serveFile(target, decoded, options);
  } catch (error) {
    // While the database is away, it cannot be asked where a file is; what is in memory may still be sent for a while.
    const isAway =
      target.found === undefined && error instanceof Fault && error.data.reason === "unavailable";
    const known = isAway ? options.cache.answerLate(target.request, key) : undefined;
    return known ?? faultResponse(error);
  }
}

/** recordFor is the record by which a request is answered: one with a lease, or what a look for this request found. */
async function recordFor(
  request: Request,
  key: BucketKey,
  { records }: Buckets,
): Promise<{ readonly bucket: Bucket | undefined; readonly found?: BucketState | undefined }> {
  if (!records.isLeased || !wantsPresentState(request.headers))
    return { bucket: await records.loadOrStale(key) };
  const found = await records.look(key);
  return { bucket: found?.record, found };
}

function answerFromMemory(
  { request, found }: StaticRequest,
  key: string,
  { cache }: StaticOptions,
): Response | undefined {
  return found === undefined ? cache.answerLate(request, key) : cache.answerFound(request, key, found);
}

async function serveFile(
  target: StaticRequest,
  decoded: DecodedPath,
  options: StaticOptions,
): Promise<Response> {
  const { request, base, bucket, buckets } = target;
  const { cache, compression, contentBudget } = options;
  const { reader } = buckets.filesOf(bucket);
  const entry = await reader.find(decoded.path);
  if (entry?.kind === "folder" && !decoded.slash) return redirectToFolder(request);
  if (entry === undefined || (entry.kind === "file" && decoded.slash)) return missingFile(request, reader);
  const file = entry.kind === "folder" ? await reader.find(childPath(entry.path, indexPage)) : entry;
  if (file?.kind !== "file") return missingFile(request, reader);
  // The name on the disk may have another Unicode normalisation than the one that was sent; there is one key for both.
  const key = cacheKey(base, entry.path + (decoded.slash && entry.path !== "" ? "/" : ""));
  const cached = entry.path === decoded.path ? undefined : answerFromMemory(target, key, options);
  if (cached !== undefined) return cached;
  const encodings = encodingsFor(request.headers);
  const variant = await selectVariant(reader, file, { request, encodings, compression, contentBudget });
  return cache.answerAndAdd(request, { key, bucket, compressible: variant.compressible }, variant);
}

/** redirectToFolder sends the client to the same path with a slash, so that relative links of `index.html` resolve. */
function redirectToFolder({ url }: Request): Response {
  // Without a Host header, the URL is a path alone.
  const { pathname, search } = new URL(url, "http://localhost");
  return new Response(null, { status: 301, headers: { location: `${pathname}/${search}` } });
}
