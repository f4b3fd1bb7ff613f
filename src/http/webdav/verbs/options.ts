import { verbs } from "./index.ts";

/**
 * davCors is on every WebDAV response. Any origin may use credentials that it has itself. The wildcard keeps pages from reading
 * responses to credentials that the browser added; `mayCarryStoredCredentials` relies on it.
 */
export const davCors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "DAV, ETag, Content-Length, Content-Range, Last-Modified, Location, Lock-Token, X-OC-Mtime",
};

const allow = ["OPTIONS", ...Object.keys(verbs)].join(", ");

/** optionsHeaders are the same for everybody, everywhere: Windows asks at `/` first, without credentials, and gives up on a refusal. */
export const optionsHeaders = {
  ...davCors,
  dav: "1, 2, 3",
  allow,
  "ms-author-via": "DAV",
  "access-control-allow-methods": allow,
  "access-control-allow-headers":
    "Authorization, Content-Digest, Content-MD5, Content-Type, Depth, Destination, If, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Lock-Token, OC-Checksum, Overwrite, Range, Repr-Digest, Timeout, X-Expected-Entity-Length, X-OC-Mtime, X-Requested-With",
  "access-control-max-age": "86400",
};

export function options(): Response {
  return new Response(null, { headers: optionsHeaders });
}
