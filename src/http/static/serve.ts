import { Fault } from "../../base/fault.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import type { FileReader } from "../../buckets/file-store.ts";
import { childPath, pathSegment, treePath } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Compression } from "../content/compression.ts";
import type { ContentBudget } from "../content/content-budget.ts";
import { allowedMethods, methodNotAllowed, plainText, serviceUnavailable } from "../content/plain.ts";
import { respond, respondWhole } from "../content/respond.ts";
import { maxWholeBytes, selectVariant } from "../content/variants.ts";
import { cacheKey } from "./cache-key.ts";
import { addToCache, encodingsFor, serveCached } from "./cached.ts";
import { staticMethods, withCors } from "./cors.ts";
import { type DecodedPath, decodePath } from "./decode-path.ts";
import type { MemoryCache } from "./memory-cache.ts";

const indexPage = pathSegment("index.html");

/** StaticRequest is a request for a file of a bucket, by the bucket's own route or by the HTTP root. */
export interface StaticRequest {
  readonly request: Request;
  /** The part of the path above the bucket's files, as it was sent. */
  readonly base: string;
  /** The path below `base`, still encoded. */
  readonly rest: string;
  readonly bucket: Bucket;
  readonly buckets: Buckets;
}

export interface StaticOptions {
  readonly cache: MemoryCache;
  readonly compression: Compression;
  readonly contentBudget: ContentBudget;
}

/** serveBucket answers one request for a file of a bucket. */
export async function serveBucket(target: StaticRequest, options: StaticOptions): Promise<Response> {
  return withCors(target.bucket, target.request, await answer(target, options));
}

async function answer(target: StaticRequest, options: StaticOptions): Promise<Response> {
  const { request, rest } = target;
  if (request.method === "OPTIONS") return allowedMethods(staticMethods);
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(staticMethods);
  const decoded = decodePath(rest);
  if (decoded === undefined) return plainText(400, "400 Bad Request: invalid file path.");
  try {
    return await serveFile(target, decoded, options);
  } catch (error) {
    return faultResponse(error);
  }
}

async function serveFile(
  { request, base, bucket, buckets }: StaticRequest,
  decoded: DecodedPath,
  { cache, compression, contentBudget }: StaticOptions,
): Promise<Response> {
  const { reader } = buckets.filesOf(bucket);
  const entry = await reader.find(decoded.path);
  if (entry?.kind === "folder" && !decoded.slash) return redirectToFolder(request);
  if (entry === undefined || (entry.kind === "file" && decoded.slash)) return missing(request, reader);
  const file = entry.kind === "folder" ? await reader.find(childPath(entry.path, indexPage)) : entry;
  if (file?.kind !== "file") return missing(request, reader);
  // The name on the disk may have another Unicode normalisation than the one that was sent; there is one key for both.
  const key = cacheKey(base, entry.path + (decoded.slash && entry.path !== "" ? "/" : ""));
  const cached = entry.path === decoded.path ? undefined : serveCached(request, key, { buckets, cache });
  if (cached !== undefined) return cached;
  const encodings = encodingsFor(request.headers);
  const variant = await selectVariant(reader, file, { encodings, compression, contentBudget });
  addToCache(cache, { key, bucket, compressible: variant.compressible }, variant);
  return respond(request, variant.representation);
}

/** redirectToFolder sends the client to the same path with a slash, so that relative links of `index.html` resolve. */
export function redirectToFolder({ url }: Request): Response {
  // Without a Host header, the URL is a path alone.
  const { pathname, search } = new URL(url, "http://localhost");
  return new Response(null, { status: 301, headers: { location: `${pathname}/${search}` } });
}

/** noSuchFile is the same whether the bucket or the file does not exist. */
export function noSuchFile(): Response {
  return plainText(404, "404 Not Found: there is no such file.");
}

/** The bucket's own `404.html`, or one line. */
async function missing(request: Request, reader: FileReader): Promise<Response> {
  const own = await reader.find(treePath("404.html"));
  if (own?.kind !== "file" || own.stats.size > maxWholeBytes) return noSuchFile();
  const { representation } = await selectVariant(reader, own);
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  return respondWhole(request, { ...representation, headers }, 404);
}

function faultResponse(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return noSuchFile();
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  return serviceUnavailable(error.detail);
}
