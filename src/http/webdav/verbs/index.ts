import type { Visit } from "../dav-request.ts";
import { copy, mkcol, move, remove } from "./copy-move.ts";
import { get } from "./get.ts";
import { lock, unlock } from "./lock.ts";
import { propfind } from "./propfind.ts";
import { proppatch } from "./proppatch.ts";
import { put } from "./put.ts";

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

export const davMethods = ["OPTIONS", ...Object.keys(verbs)];
