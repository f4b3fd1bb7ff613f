import { copy, mkcol, move, remove } from "./change.ts";
import { lock, unlock } from "./locking.ts";
import { propfind } from "./propfind.ts";
import { proppatch } from "./proppatch.ts";
import { put } from "./put.ts";
import { get } from "./read.ts";
import type { Visit } from "./visit.ts";

/** Every verb of a bucket's WebDAV address, but for OPTIONS, which asks for nobody's name. */
export const verbs: Readonly<Record<string, (visit: Visit) => Promise<Response>>> = {
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  GET: get,
  HEAD: get,
  PUT: put,
  DELETE: remove,
  MKCOL: mkcol,
  COPY: copy,
  MOVE: move,
  LOCK: lock,
  UNLOCK: unlock,
};

export const allow = ["OPTIONS", ...Object.keys(verbs)].join(", ");
