// This folder has a function for each method of WebDAV. This file is the table by method; ../handler.ts looks a method
// up here and runs it with an authorised DavRequest. A verb that changes files goes through buckets/bucket-files.ts,
// with the conditions of the request: write.ts has those whose answer is a status. get.ts, propfind.ts and proppatch.ts
// answer with content or a multistatus; OPTIONS is answered here, before anybody signs in.

import type { DavRequest } from "../dav-request.ts";
import { get } from "./get.ts";
import { lock, unlock } from "./lock.ts";
import { propfind } from "./propfind.ts";
import { proppatch } from "./proppatch.ts";
import { copy, mkcol, move, put, remove } from "./write.ts";

/** Verb is a row of the table of methods. */
export interface Verb {
  readonly serve: (dav: DavRequest) => Promise<Response>;
  /** The kinds of resources that the method cannot be used on: it answers 405 there. */
  readonly notOn?: ReadonlyArray<"file" | "folder">;
}

/** verbs are the methods of WebDAV. OPTIONS is not among them: it needs no credentials. */
export const verbs: Readonly<Record<string, Verb>> = {
  PROPFIND: { serve: propfind },
  PROPPATCH: { serve: proppatch },
  GET: { serve: get },
  HEAD: { serve: get },
  PUT: { serve: put, notOn: ["folder"] },
  DELETE: { serve: remove },
  MKCOL: { serve: mkcol, notOn: ["file", "folder"] },
  COPY: { serve: copy },
  MOVE: { serve: move },
  LOCK: { serve: lock },
  UNLOCK: { serve: unlock },
};

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
