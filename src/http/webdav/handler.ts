// This folder is WebDAV (RFC 4918) on the files of buckets. serveFiles of this file finds the caller (by
// ../request/authentication.ts, which also makes the 401), checks the need and opens the bucket, also for resumable
// uploads; then it runs the verb of the method (verbs/) with a DavRequest (dav-request.ts). dav-path.ts reads and
// writes addresses, conditions.ts the If headers and lock tokens. error-response.ts turns faults into statuses, xml/
// reads and writes bodies. above-buckets.ts lists the buckets of a caller, so that one address mounts all of them.

import type { AuditLog } from "../../auth/audit-log.ts";
import { authorise } from "../../auth/authorise.ts";
import { whoFields } from "../../auth/caller.ts";
import { inBucket, type Need } from "../../auth/need.ts";
import { millisecondsSince } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import type { Turns } from "../../base/turns.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { parseDeployTarget } from "../../buckets/history/deploy-record.ts";
import { treeRoot } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Logger } from "../../log/hub.ts";
import { inSpan } from "../../log/span.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import { errorReason, methodNotAllowed, plainText } from "../content/plain.ts";
import { authenticate, type Challenge, refuseCredentials } from "../request/authentication.ts";
import { countUnread, tooManyUnread, type UnreadBodies } from "../request/body-chunks.ts";
import { isFromBrowser } from "../request/browser-request.ts";
import type { Delays } from "../request/connection-limiter.ts";
import { HttpError } from "../request/http-error.ts";
import { type HandlerName, type IncomingRequest, noteOn } from "../request/request-observer.ts";
import type { StaticOptions } from "../static/serve.ts";
import { type AboveBuckets, listAboveBuckets, methodsAboveBuckets } from "./above-buckets.ts";
import { type DavPath, parseDavPath, webdavPrefix } from "./dav-path.ts";
import type { DavRequest } from "./dav-request.ts";
import { faultResponse, httpErrorResponse } from "./error-response.ts";
import { davMethods, verbOf } from "./verbs/index.ts";
import { davCors, options } from "./verbs/options.ts";

export interface WebdavOptions extends UnreadBodies {
  readonly acquire: () => Lease<Services>;
  readonly audit: AuditLog;
  /** The largest upload; 0 means no limit. */
  readonly maxUploadBytes: () => number;
  readonly delays: Delays;
  readonly turns: Turns;
  readonly static: StaticOptions;
}

/** FileProtocol is a set of methods on addresses of files, which share who may use them and what errors look like. */
export interface FileProtocol {
  /** Names it in the log, metrics and the access log. */
  readonly name: HandlerName;
  /** What its addresses begin with, without a slash at the end. */
  readonly prefix: string;
  /** Added to every response but that of OPTIONS. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  /** Answers OPTIONS, which needs no credentials. */
  options(webdav: WebdavOptions): Response;
  /** verbOf returns the function that answers a request; undefined if its method is not one of the protocol's. */
  verbOf(request: Request): ((dav: DavRequest) => Promise<Response>) | undefined;
  /** Answers for the folders above all buckets; without it there is nothing. */
  above?(above: AboveBuckets): Promise<Response>;
  /** The methods for `Allow`: all, or those that can be used on what exists at a path. */
  methods(target?: "file" | "folder"): readonly string[];
}

/**
 * serveFiles answers one request for a file of a bucket. Until its caller is known, its body is counted in the memory budget. Above
 * the budget it is refused at once, so that Bun buffers nothing of its body.
 */
export function serveFiles(
  protocol: FileProtocol,
  incoming: IncomingRequest,
  webdav: WebdavOptions,
): Response | Promise<Response> {
  const { request, address } = incoming;
  if (request.method === "OPTIONS") return protocol.options(webdav);
  const unread = countUnread(request, address, webdav);
  if (unread === undefined) return tooManyUnread();
  return serveCounted({ ...incoming, protocol, target: unknownTarget }, webdav, unread);
}

async function serveCounted(
  pending: PendingRequest,
  webdav: WebdavOptions,
  unread: Disposable,
): Promise<Response> {
  const { request, protocol } = pending;
  const lease = webdav.acquire();
  const start = performance.now();
  try {
    const response = await answer(pending, { lease, unread }, webdav).catch((error: unknown) =>
      toResponse(error, pending),
    );
    for (const [name, value] of protocol.headers) response.headers.set(name, value);
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
  readonly protocol: FileProtocol;
  /** Parsed once the caller is known. */
  target: DavPath;
}

/** RequestResources has what a request holds while it is answered. */
interface RequestResources {
  readonly lease: Lease<Services>;
  /** Its body, as that of an unknown caller. */
  readonly unread: Disposable;
}

const unknownTarget: DavPath = { bucket: "", path: treeRoot, slash: false };

const challenge: Challenge = {
  realm: "Node Static WebDAV",
  forPrograms: "this address asks for a token's key and secret, or a user name and password",
  forBrowsers:
    "this address is for WebDAV programs, which sign in with a token's key and secret; in a browser, open /node/console/",
};

/** Authenticates first: a stranger learns nothing, not even whether a bucket exists. */
async function answer(
  pending: PendingRequest,
  { lease: { services, authenticator }, unread }: RequestResources,
  { audit, delays, maxUploadBytes, turns, static: { cache } }: WebdavOptions,
): Promise<Response> {
  const { request, address, protocol, restartIdleTimer } = pending;
  const caller = await authenticate(request, { address, delays, challenge }, authenticator);
  noteOn(request, { caller });
  unread[Symbol.dispose]();
  const { buckets } = services;
  const target = parseDavPath(pending.rawPath, protocol.prefix);
  if (target === undefined) {
    if (protocol.above === undefined) throw new HttpError(404, "the address does not name a bucket");
    const { rawPath } = pending;
    return protocol.above({ request, rawPath, caller, buckets, turns, needOf });
  }
  pending.target = target;
  const { bucket: name, path, slash } = pending.target;
  const { bucket: bucketName, deploy } = parseDeployTarget(name);
  const need = needOf(bucketName);
  authorise(caller, need);
  const bucket = await buckets.get(bucketName);
  if (bucket === undefined || !bucket.enable) throw new HttpError(404, "there is no such bucket");
  const verb = protocol.verbOf(request);
  if (verb === undefined) return methodNotAllowed(protocol.methods());
  const files = deploy === undefined ? buckets.filesOf(bucket) : await filesOfDeploy(buckets, bucket, deploy);
  const assertStillAuthorised = async () => {
    if (!(await authenticator.isStillAuthorised(caller, need)))
      throw refuseCredentials(
        request,
        challenge,
        "the token was deleted or changed meanwhile; nothing was changed",
      );
    await assertSameBucket(buckets, bucket);
    if (deploy !== undefined) await buckets.deploys.assertOpen(bucket, deploy);
  };
  const authorised = {
    request,
    caller,
    assertStillAuthorised,
    restartIdleTimer,
    audit: audit.by({ caller, address }),
  };
  return inSpan(`${protocol.name}::${request.method}`, { ...whoFields(caller), bucket: name, path }, () =>
    verb({
      ...authorised,
      // Addresses in answers are those of the deploy.
      bucket: deploy === undefined ? bucket : { ...bucket, name },
      files,
      cache,
      uploads: buckets.uploads,
      path,
      slash,
      turns,
      makesParents: deploy !== undefined,
      maxUploadBytes: maxUploadBytes(),
    }),
  );
}

/** The files of a deploy that is being filled: `site@id` in place of the bucket's name. */
async function filesOfDeploy(buckets: Buckets, bucket: Bucket, deploy: string): Promise<BucketFiles> {
  return (await buckets.deploys.openForChange(bucket, deploy)).files;
}

async function assertSameBucket(buckets: Buckets, bucket: Bucket): Promise<void> {
  switch (await buckets.compare(bucket)) {
    case "deleted":
    case "disabled":
      throw new HttpError(404, "the bucket was deleted or disabled meanwhile; nothing was changed");
    case "changed":
      throw new HttpError(
        409,
        "the bucket got another folder meanwhile; nothing was changed, send the request again",
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

function needOf(bucket: string): Need {
  return inBucket(bucket, ...filePermissions);
}

function toResponse(error: unknown, { protocol, target: { bucket, path } }: PendingRequest): Response {
  if (error instanceof HttpError) return withAllow(httpErrorResponse(error), error, protocol);
  if (error instanceof Fault && error.kind === "PermissionDenied")
    return plainText(403, `403 ${error.message}.`, errorReason(error.data.reason));
  if (error instanceof Fault) return faultResponse(error, bucket, path);
  // The client disconnected; the response is not sent.
  if (error instanceof Error && error.name === "AbortError")
    return plainText(400, "400 the request was aborted.");
  throw error;
}

function withAllow(response: Response, { options: { target } }: HttpError, protocol: FileProtocol): Response {
  if (target !== undefined) response.headers.set("allow", protocol.methods(target).join(", "));
  return response;
}

interface Outcome {
  readonly status: number;
  /** `performance.now()` when the request arrived. */
  readonly start: number;
}

/** One line for each request. */
function logRequest(
  log: Logger,
  { request, protocol, target }: PendingRequest,
  { status, start }: Outcome,
): void {
  if (!log.wants("DEBUG")) return;
  const { bucket, path } = target;
  log.debug(`${protocol.name} ${request.method}`, {
    bucket,
    path,
    status,
    elapsed_ms: millisecondsSince(start),
  });
}

/** webdav is RFC 4918 on the files of buckets. */
export const webdav: FileProtocol = {
  name: "webdav",
  prefix: webdavPrefix,
  headers: Object.entries(davCors),
  options,
  verbOf: ({ method }) => verbOf(method),
  above: async (above) =>
    above.request.method === "PROPFIND" ? listAboveBuckets(above) : methodNotAllowed(methodsAboveBuckets),
  methods: davMethods,
};
