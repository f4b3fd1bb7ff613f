import type { AuditLog } from "../../auth/audit-log.ts";
import { authorise } from "../../auth/authorise.ts";
import { whoFields } from "../../auth/caller.ts";
import { inBucket } from "../../auth/need.ts";
import { millisecondsSince } from "../../base/elapsed.ts";
import { Fault } from "../../base/fault.ts";
import type { MemoryBudget } from "../../base/memory-budget.ts";
import type { Turns } from "../../base/turns.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { treeRoot } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Logger } from "../../log/hub.ts";
import { inSpan } from "../../log/span.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";
import { methodNotAllowed, plainText, serviceUnavailable } from "../content/plain.ts";
import { maxUnreadBytes } from "../request/body-chunks.ts";
import type { Delays, UnsizedBodies } from "../request/connection-limiter.ts";
import { noteOn } from "../request/request-notes.ts";
import { authenticate, refuseCredentials } from "./authentication.ts";
import { isFromBrowser } from "./browser-request.ts";
import { type DavPath, parseDavPath } from "./dav-path.ts";
import { faultResponse, httpErrorResponse } from "./error-response.ts";
import { HttpError } from "./http-error.ts";
import { davMethods, verbOf } from "./verbs/index.ts";
import { davCors, options } from "./verbs/options.ts";

export interface WebdavOptions {
  readonly acquire: () => Lease<Services>;
  readonly audit: AuditLog;
  /** The largest upload; 0 means no limit. */
  readonly maxUploadBytes: () => number;
  readonly delays: Delays;
  readonly turns: Turns;
  readonly memory: MemoryBudget;
  readonly unsizedBodies: UnsizedBodies;
}

/** IncomingRequest is a request on the WebDAV route and what WebDAV needs of its connection. */
export interface IncomingRequest {
  readonly request: Request;
  /** The whole path, as it was sent. */
  readonly rawPath: string;
  /** The client's IP address. */
  readonly address: string;
  /** Restarts the time without progress after which the connection is dropped. */
  restartIdleTimer(): void;
}

/**
 * serveWebdav answers one request on the WebDAV route. Until its caller is known, its body is counted in the memory budget. Above
 * the budget it is refused at once, so that Bun buffers nothing of its body.
 */
export function serveWebdav(incoming: IncomingRequest, webdav: WebdavOptions): Response | Promise<Response> {
  const { request, address } = incoming;
  if (request.method === "OPTIONS") return options();
  const unread = countUnread(request, address, webdav);
  return unread === undefined ? tooManyUnread() : serveCounted(incoming, webdav, unread);
}

/** Counts the body of an unknown caller until it is disposed; undefined if there are too many. */
function countUnread(
  request: Request,
  address: string,
  { memory, unsizedBodies }: WebdavOptions,
): Disposable | undefined {
  const account = memory.open(address);
  const declared = request.headers.get("content-length");
  // `body` is read last: it makes a stream, and a body that is read whole afterwards would go through it.
  if (declared !== null || request.body === null)
    return account.hold(Math.min(Number(declared ?? 0), maxUnreadBytes)) ? account : undefined;
  const permit = unsizedBodies.tryAcquire(address);
  if (permit === undefined) return undefined;
  return { [Symbol.dispose]: () => permit.release() };
}

function tooManyUnread(): Response {
  const response = serviceUnavailable("too many requests of unknown callers are being sent; try again");
  // Otherwise Bun would parse the rest of the body.
  response.headers.set("connection", "close");
  return response;
}

async function serveCounted(
  incoming: IncomingRequest,
  webdav: WebdavOptions,
  unread: Disposable,
): Promise<Response> {
  const { request } = incoming;
  const lease = webdav.acquire();
  const start = performance.now();
  const pending: PendingRequest = { ...incoming, target: unknownTarget };
  try {
    const response = await answer(pending, lease, { ...webdav, unread }).catch((error: unknown) =>
      toResponse(error, pending.target),
    );
    for (const [name, value] of Object.entries(davCors)) response.headers.set(name, value);
    // Pages of other buckets share the browser's cache (`fetch` with `force-cache`) and have no credentials.
    if (isFromBrowser(request)) response.headers.set("cache-control", "no-store");
    logRequest(lease.services.hub.logger("server"), pending, { status: response.status, start });
    return response;
  } finally {
    unread[Symbol.dispose]();
    lease.release();
  }
}

interface PendingRequest extends IncomingRequest {
  /** Parsed once the caller is known. */
  target: DavPath;
}

const unknownTarget: DavPath = { bucket: "", path: treeRoot, slash: false };

/** Authenticates first: a stranger learns nothing, not even whether a bucket exists. */
async function answer(
  pending: PendingRequest,
  { services, authenticator }: Lease<Services>,
  { audit, delays, maxUploadBytes, turns, unread }: WebdavOptions & { readonly unread: Disposable },
): Promise<Response> {
  const { request, address, restartIdleTimer } = pending;
  const caller = await authenticate(request, { address, delays }, authenticator);
  noteOn(request, { caller });
  unread[Symbol.dispose]();
  pending.target = targetOf(pending.rawPath);
  const { bucket: name, path, slash } = pending.target;
  const need = inBucket(name, ...filePermissions);
  authorise(caller, need);
  const bucket = await services.buckets.get(name);
  if (bucket === undefined || !bucket.enable) throw new HttpError(404, "there is no such bucket");
  const verb = verbOf(request.method);
  if (verb === undefined) return methodNotAllowed(davMethods());
  const files = services.buckets.filesOf(bucket);
  const assertStillAdmitted = async () => {
    if (!(await authenticator.stillAdmits(caller, need)))
      throw refuseCredentials(request, "the token was deleted or changed meanwhile; nothing was changed");
    await assertSameBucket(services.buckets, bucket);
  };
  const admitted = {
    request,
    caller,
    assertStillAdmitted,
    restartIdleTimer,
    audit: audit.by({ caller, address }),
  };
  return inSpan(`webdav::${request.method}`, { ...whoFields(caller), bucket: name, path }, () =>
    verb({ ...admitted, bucket, files, path, slash, turns, maxUploadBytes: maxUploadBytes() }),
  );
}

async function assertSameBucket(buckets: Buckets, bucket: Bucket): Promise<void> {
  switch (await buckets.compare(bucket)) {
    case "deleted":
    case "disabled":
      throw new HttpError(404, "the bucket was deleted or disabled meanwhile; nothing was changed");
    case "changed":
      throw new HttpError(
        409,
        "the bucket was given another folder meanwhile; nothing was changed, send the request again",
      );
  }
}

/** Every verb needs all four: clients mix them freely in one session. */
const filePermissions = [
  "static_bucket_file.read",
  "static_bucket_file.write",
  "static_bucket_file.delete",
  "static_bucket_file.list",
] as const;

function targetOf(rawPath: string): DavPath {
  const target = parseDavPath(rawPath);
  if (target === undefined) throw new HttpError(404, "the address names no bucket");
  return target;
}

function toResponse(error: unknown, { bucket, path }: DavPath): Response {
  if (error instanceof HttpError) return withAllow(httpErrorResponse(error), error);
  if (error instanceof Fault && error.kind === "PermissionDenied")
    return plainText(403, `403 ${error.message}.`);
  if (error instanceof Fault) return faultResponse(error, bucket, path);
  // The client disconnected; the response is not sent.
  if (error instanceof Error && error.name === "AbortError")
    return plainText(400, "400 the request was aborted.");
  throw error;
}

function withAllow(response: Response, { options: { target } }: HttpError): Response {
  if (target !== undefined) response.headers.set("allow", davMethods(target).join(", "));
  return response;
}

interface Outcome {
  readonly status: number;
  /** `performance.now()` when the request arrived. */
  readonly start: number;
}

/** One line for each request. */
function logRequest(log: Logger, { request, target }: PendingRequest, { status, start }: Outcome): void {
  if (!log.wants("DEBUG")) return;
  const { bucket, path } = target;
  log.debug(`webdav ${request.method}`, { bucket, path, status, elapsed_ms: millisecondsSince(start) });
}
