import type { Bucket } from "../../buckets/record.ts";
import { isFingerprinted, isForSharedCaches, type MatchedHeaders } from "../../sites/headers-file.ts";

/** staticMethods are the HTTP methods of every file of a bucket. */
export const staticMethods = ["GET", "HEAD", "OPTIONS"] as const;

export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "ETag, Content-Length, Content-Range",
};
const preflightHeaders = {
  ...corsHeaders,
  "access-control-allow-methods": staticMethods.join(", "),
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

/** withCors adds the CORS headers of a bucket with `cors` to every response, errors included. */
export function withCors(bucket: Bucket, { method }: Request, response: Response): Response {
  if (bucket.cors) {
    const headers = method === "OPTIONS" ? preflightHeaders : corsHeaders;
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  }
  return response;
}

type Headers = Readonly<Record<string, string>>;

interface SiteHeaderOptions {
  readonly bucket: Bucket;
  readonly matched: MatchedHeaders;
  /** The path of the file, if it was asked for by its own address; undefined for one that a rule answers with. */
  readonly path: string | undefined;
}

/** The content of an address never changes: a browser need not ask again for a year, the longest time that caches keep to. */
const immutable = "max-age=31536000, immutable";

/**
 * siteHeaders returns the headers of a file, given those that the server sets: with those of `_headers`, and caching by the
 * file's name. Those of a private bucket are made private by `withPrivacy`.
 */
export function siteHeaders(headers: Headers, { bucket, matched, path }: SiteHeaderOptions): Headers {
  // Who has put the file may have said how long it is kept.
  const isImmutable = path !== undefined && headers["cache-control"] === "no-cache" && isFingerprinted(path);
  if (!isImmutable && matched.values.size === 0) return headers;
  const merged: Record<string, string> = {
    ...headers,
    ...(isImmutable ? { "cache-control": `public, ${immutable}` } : {}),
    ...Object.fromEntries(bucket.public ? matched.values : forOneReader(matched)),
  };
  const { vary } = headers;
  const ownVary = matched.values.get("vary");
  if (vary !== undefined && ownVary !== undefined) merged.vary = `${vary}, ${ownVary}`;
  return merged;
}

/** A cache that many people use must not keep files of a private bucket, whatever its rules say. */
function forOneReader({ values }: MatchedHeaders): [string, string][] {
  return [...values].filter(([name]) => !isForSharedCaches(name));
}

/** Headers of `_headers` about the content of a file or how long it may be kept, which an error page or another protocol does not have. */
const aboutContent: ReadonlySet<string> = new Set([
  "cache-control",
  "expires",
  "pragma",
  "content-type",
  "content-disposition",
  "content-language",
]);

/** generalHeaders returns those headers of `_headers` that are about no particular content, such as those for security. */
export function generalHeaders({ values }: MatchedHeaders): Headers {
  return Object.fromEntries(
    [...values].filter(([name]) => !aboutContent.has(name) && !isForSharedCaches(name)),
  );
}
