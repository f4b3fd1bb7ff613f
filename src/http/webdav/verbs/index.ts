// This folder has a function for each method of WebDAV. This file is the table by method; ../handler.ts looks a method up
// here and runs it with an authorised DavRequest. A verb that changes files goes through buckets/bucket-files.ts, with
// the conditions of the request. get.ts, propfind.ts and proppatch.ts answer with content or a multistatus, options.ts
// answers before anybody signs in.

import type { DavRequest } from "../dav-request.ts";
import { copy, move } from "./copy-move.ts";
import { remove } from "./delete.ts";
import { get } from "./get.ts";
import { lock, unlock } from "./lock.ts";
import { mkcol } from "./mkcol.ts";
import { propfind } from "./propfind.ts";
import { proppatch } from "./proppatch.ts";
import { put } from "./put.ts";

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
