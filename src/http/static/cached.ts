import type { Buckets } from "../../buckets/buckets.ts";
import { isSettled } from "../../buckets/file-store.ts";
import { acceptedEncodings, type Encoding } from "../content/encoding.ts";
import { isConditional, isPlainGet, notModifiedHeaders, respond } from "../content/respond.ts";
import type { Variant } from "../content/variants.ts";
import { cacheKey } from "./cache-key.ts";
import { corsHeaders } from "./cors.ts";
import { decodePath } from "./decode-path.ts";
import type { CachedFile, MemoryCache } from "./memory-cache.ts";

/** CacheAccess is the cache, and the buckets that its entries must still agree with. */
export interface CacheAccess {
  readonly buckets: Buckets;
  readonly cache: MemoryCache;
}

/** serveDecoded answers from the cache for a path that contains `%`. `base` is its part above the bucket's files. */
export function serveDecoded(
  request: Request,
  { base, path }: { readonly base: string; readonly path: string },
  caches: CacheAccess,
): Response | undefined {
  const decoded = decodePath(path.slice(base.length));
  return decoded && serveCached(request, cacheKey(base, decoded.text), caches);
}

/** serveCached answers from the cache if it has a valid response under this key. A path without `%` is its own key. */
export function serveCached(
  request: Request,
  key: string,
  { buckets, cache }: CacheAccess,
): Response | undefined {
  const entry = cache.find(key);
  if (entry === undefined || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const { headers } = request;
  const accepted = entry.file.compressible ? encodingsFor(headers).join() : "";
  const variant = cache.variant(entry, accepted, buckets);
  if (variant === undefined) return undefined;
  const known = headers.get("if-none-match");
  if (known === variant.representation.etag && !isConditional(headers))
    return new Response(null, variant.notModified);
  return known === null && isPlainGet(request)
    ? new Response(variant.blob, variant.whole)
    : respond(request, variant.representation);
}

/** encodingsFor returns the encodings to consider for a request. A range is always one of the plain bytes, so that a client can combine it with others. */
export function encodingsFor(headers: Headers): readonly Encoding[] {
  return headers.has("range") ? [] : acceptedEncodings(headers.get("accept-encoding"));
}

/** addToCache caches a variant that is in memory, unless one of its files is so new that a change could go unseen. */
export function addToCache(cache: MemoryCache, file: CachedFile, variant: Variant): void {
  const { representation, dependencies, accepted } = variant;
  const { body } = representation;
  if (body.kind !== "memory") return;
  if (!dependencies.every(isSettled)) return;
  const headers = { ...representation.headers, ...(file.bucket.cors ? corsHeaders : {}) };
  cache.add(file, accepted.join(), {
    representation: { ...representation, headers },
    blob: body.blob,
    whole: { headers: new Headers(headers) },
    notModified: { status: 304, headers: new Headers(notModifiedHeaders(headers)) },
    dependencies,
  });
}
