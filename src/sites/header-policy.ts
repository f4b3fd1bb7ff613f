/** What no bucket may set, each with the reason; names in lower case. */
const refused: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "the server needs it to frame the answer": [
      "content-length",
      "transfer-encoding",
      "connection",
      "keep-alive",
      "upgrade",
      "trailer",
      "te",
      "date",
      "content-encoding",
      "content-range",
      "accept-ranges",
      "proxy-authenticate",
      "proxy-connection",
    ],
    "the server sets it from the file": ["etag", "last-modified", "age"],
    "redirects belong into _redirects": ["location"],
    "sign-in belongs to the server": ["www-authenticate", "authentication-info", "set-cookie", "set-cookie2"],
    "the server does not ask for passwords of _headers, so what is at this path is 403; make the bucket private":
      ["basic-auth"],
    "pages of other origins must not read what a browser is signed in to": [
      "access-control-allow-credentials",
    ],
    "it concerns every page of the host, the server's own included": [
      "alt-svc",
      "clear-site-data",
      "nel",
      "report-to",
      "public-key-pins",
      "public-key-pins-report-only",
      "service-worker-allowed",
    ],
    "a proxy in front of the server would take it as an order": [
      "x-sendfile",
      "x-reproxy-url",
      "x-lighttpd-send-file",
    ],
  }).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

/** Headers that browsers apply to the whole host: set only where the host name is the bucket's own. */
export const hostWideHeaders: ReadonlySet<string> = new Set(["strict-transport-security"]);

/** Headers of which several values are one list; any other is replaced by a later block. */
export const listHeaders: ReadonlySet<string> = new Set(["link", "vary", "server-timing"]);

/** Headers that only caches between the server and browsers read. Some of them prefer these to Cache-Control. */
const sharedCacheHeaders =
  /^(?:.*cdn-cache-control|surrogate-control|edge-control|x-litespeed-cache-control)$/;

/** isForSharedCaches tells whether a header makes a cache that many people use keep an answer. `name` is in lower case. */
export function isForSharedCaches(name: string): boolean {
  return sharedCacheHeaders.test(name);
}

/** problemInHeader returns why a bucket may not set a header to a value. `name` is in lower case. */
export function problemInHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return "the name of a header has letters, digits and hyphens";
  const why = refused.get(name) ?? (name.startsWith("x-accel-") ? refused.get("x-sendfile") : undefined);
  if (why !== undefined) return `a bucket cannot set it: ${why}`;
  if (!/^[\t\x20-\x7e]*$/.test(value))
    return "the value of a header is ASCII text without control characters";
  if (name === "x-content-type-options" && value.toLowerCase() !== "nosniff")
    return "its only value is nosniff";
  if (name === "content-type" && !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(?:;|$)/.test(value))
    return "its value is a media type, such as text/html; charset=utf-8";
  return undefined;
}
