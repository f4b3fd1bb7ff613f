import { authorise } from "../../auth/authorise.ts";
import { inBucket } from "../../auth/need.ts";
import { millisecondsSince } from "../../base/elapsed.ts";
import { Fault } from "../../base/fault.ts";
import type { Turns } from "../../base/turns.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { treeRoot } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Logger } from "../../log/hub.ts";
import { inSpan } from "../../log/span.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import { methodNotAllowed, plainText } from "../content/plain.ts";
import type { Delays } from "../request/connection-limiter.ts";
import { authenticate, refuseCredentials } from "./authentication.ts";
import { isFromBrowser } from "./browser-request.ts";
import { type Place, parsePlace } from "./dav-path.ts";
import { faultResponse, refusedResponse } from "./error-response.ts";
import { Refused } from "./http-error.ts";
import { davMethods, verbs } from "./verbs/index.ts";

export interface WebdavOptions {
  readonly acquire: () => Lease<Services>;
  /** The largest upload; 0 means no limit. */
  readonly maxUploadBytes: () => number;
  readonly delays: Delays;
  readonly turns: Turns;
}

/**
 * Any origin may try with credentials that it has: the wildcard keeps answers to those that a browser added by itself from pages, and
 * `mayCarryKeptCredentials` relies on it.
 */
const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "DAV, ETag, Content-Length, Content-Range, Last-Modified, Location, Lock-Token, X-OC-Mtime",
};

const allow = davMethods.join(", ");

/** The same for everybody, everywhere: Windows asks at `/` first, without credentials, and gives up on a refusal. */
export const optionsHeaders = {
  ...cors,
  dav: "1, 2, 3",
  allow,
  "ms-author-via": "DAV",
  "access-control-allow-methods": allow,
  "access-control-allow-headers":
    "Authorization, Content-Type, Depth, Destination, If, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Lock-Token, Overwrite, Range, Timeout, X-Expected-Entity-Length, X-OC-Mtime, X-Requested-With",
  "access-control-max-age": "86400",
};

/** The connection of a request, as far as WebDAV needs it. */
export interface DavConnection {
  /** Of the client. */
  readonly address: string;
  /** Begins anew the time without progress after which the connection is dropped. */
  restartIdleTimer(): void;
}

/** One request on the WebDAV route. `rawPath` is the whole path, as it was sent. */
export async function serveWebdav(
  {
    request,
    rawPath,
    ...connection
  }: DavConnection & { readonly request: Request; readonly rawPath: string },
  door: WebdavOptions,
): Promise<Response> {
  if (request.method === "OPTIONS") return new Response(null, { headers: optionsHeaders });
  const lease = door.acquire();
  const start = performance.now();
  const asked: Asked = { request, rawPath, place: nowhere };
  try {
    const response = await answer(asked, connection, lease, door).catch((error: unknown) =>
      toResponse(error, asked.place),
    );
    for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
    // Pages of other buckets share the browser's cache (`fetch` with `force-cache`) and have no credentials.
    if (isFromBrowser(request)) response.headers.set("cache-control", "no-store");
    tell(lease.services.hub.logger("server"), asked, response.status, start);
    return response;
  } finally {
    lease.release();
  }
}

interface Asked {
  readonly request: Request;
  readonly rawPath: string;
  /** Read once it is known who asks. */
  place: Place;
}

const nowhere: Place = { bucket: "", path: treeRoot, slash: false };

/** Who asks comes first: a stranger learns nothing, not even whether there is such a bucket. */
async function answer(
  asked: Asked,
  { address, restartIdleTimer }: DavConnection,
  { services, authenticator }: Lease<Services>,
  { delays, maxUploadBytes, turns }: WebdavOptions,
): Promise<Response> {
  const { request } = asked;
  const caller = await authenticate(request, { address, delays }, authenticator);
  asked.place = placeOf(asked.rawPath);
  const { bucket: name, path, slash } = asked.place;
  const need = inBucket(name, ...allFour);
  authorise(caller, need);
  const bucket = await services.buckets.get(name);
  if (bucket === undefined || !bucket.enable) throw new Refused(404, "there is no such bucket");
  const verb = Object.hasOwn(verbs, request.method) ? verbs[request.method] : undefined;
  if (verb === undefined) return methodNotAllowed(davMethods);
  const files = services.buckets.filesOf(bucket);
  const who = caller.by === "key" ? { token_key: caller.key } : { username: caller.username };
  const assertStillAdmitted = async () => {
    if (!(await authenticator.stillAdmits(caller, need)))
      throw refuseCredentials(request, "the token was deleted or changed meanwhile; nothing was changed");
    await assertSameBucket(services.buckets, bucket);
  };
  const admitted = { request, caller, assertStillAdmitted, restartIdleTimer };
  return inSpan(`webdav::${request.method}`, { ...who, bucket: name, path }, () =>
    verb({ ...admitted, bucket, files, path, slash, turns, maxUploadBytes: maxUploadBytes() }),
  );
}

async function assertSameBucket(buckets: Buckets, bucket: Bucket): Promise<void> {
  switch (await buckets.compare(bucket)) {
    case "deleted":
    case "disabled":
      throw new Refused(404, "the bucket was deleted or disabled meanwhile; nothing was changed");
    case "changed":
      throw new Refused(
        409,
        "the bucket was given another folder meanwhile; nothing was changed, send the request again",
      );
  }
}

const allFour = [
  "static_bucket_file.read",
  "static_bucket_file.write",
  "static_bucket_file.delete",
  "static_bucket_file.list",
] as const;

function placeOf(rawPath: string): Place {
  const place = parsePlace(rawPath);
  if (place === undefined) throw new Refused(404, "the address names no bucket");
  return place;
}

function toResponse(error: unknown, { bucket, path }: Place): Response {
  if (error instanceof Refused) return refusedResponse(error);
  if (error instanceof Fault && error.kind === "PermissionDenied")
    return plainText(403, `403 ${error.message}.`);
  if (error instanceof Fault) return faultResponse(error, bucket, path);
  // The client broke off; nobody hears the answer.
  if (error instanceof Error && error.name === "AbortError")
    return plainText(400, "400 the request was broken off.");
  throw error;
}

/** One line for each request. */
function tell(log: Logger, { request, place: { bucket, path } }: Asked, status: number, start: number): void {
  if (!log.wants("DEBUG")) return;
  const elapsed_ms = millisecondsSince(start);
  log.debug(`webdav ${request.method}`, { bucket, path, status, elapsed_ms });
}
