// This folder is WebDAV (RFC 4918) on the files of buckets. fileProtocol of this file declares a protocol of the
// pipeline (../pipeline.ts) that runs the verb of a method (verbs/) with a DavRequest (dav-request.ts, which reads
// addresses, the If headers and lock tokens): WebDAV, and resumable uploads. error-response.ts turns faults into
// statuses, xml/ reads and writes bodies. This file also lists the buckets of a caller, so that one address mounts all
// of them.

import { type Caller, whoFields } from "../../auth/caller.ts";
import { inBucket, isAuthorised } from "../../auth/need.ts";
import type { Permission } from "../../auth/permission.ts";
import { Fault } from "../../base/fault.ts";
import { LockIndex } from "../../buckets/metadata/locks.ts";
import { treeRoot } from "../../buckets/path.ts";
import type { FileEntry } from "../../buckets/ports.ts";
import { inSpan } from "../../log/span.ts";
import { methodNotAllowed } from "../content/plain.ts";
import { openBucket, type PipelineDeps, type Protocol, type ReceivedRequest } from "../pipeline.ts";
import { authenticate, type Challenge, refusalOf } from "../request/authentication.ts";
import { isFromBrowser } from "../request/browser-request.ts";
import { HttpError } from "../request/http-error.ts";
import type { HandlerName } from "../request/request-observer.ts";
import { type DavPath, depthOf, parseDavPath, webdavPrefix } from "./dav-request.ts";
import { conditionResponse, faultResponse } from "./error-response.ts";
import { davCors, options, type Verb, verbs } from "./verbs/index.ts";
import { readQuery } from "./verbs/propfind.ts";
import { PropertyWriter, type Resource } from "./xml/live-properties.ts";
import { multistatus, TextParts } from "./xml/multistatus.ts";

/** FileProtocol is a set of methods on addresses of files. */
interface FileProtocol {
  readonly name: HandlerName;
  /** What its addresses begin with, without a slash at the end. */
  readonly prefix: string;
  /** What it takes to open a bucket. */
  readonly permissions: readonly Permission[];
  /** Added to every response but that of OPTIONS. */
  readonly headers: Readonly<Record<string, string>>;
  options(deps: PipelineDeps): Response;
  /** Its methods beside OPTIONS. */
  readonly verbs: Readonly<Record<string, Verb>>;
  /** The method that a request means, where a header may name another one. */
  methodOf?(request: Request): string;
  /** Answers for the folders above all buckets; without it there is nothing. */
  above?(received: ReceivedRequest<DavPath>, caller: Caller): Promise<Response>;
}

const challenge: Challenge = {
  realm: "Node Static WebDAV",
  forPrograms: "this address asks for a token's key and secret, or a user name and password",
  forBrowsers:
    "this address is for WebDAV programs, which sign in with a token's key and secret; in a browser, open /node/console/",
};

/** fileProtocol declares a protocol on addresses of files: who may use it, and what errors look like. */
export function fileProtocol(own: FileProtocol): Protocol<Caller, DavPath> {
  const { name, prefix, permissions, verbs, methodOf = ({ method }) => method } = own;
  const headers = Object.entries(own.headers);
  return {
    name,
    takesBodies: true,
    options: own.options,
    who: (received) => authenticate(received, challenge),
    async answer(received, caller) {
      const { request } = received;
      const target = parseDavPath(received.path, prefix);
      received.target = target;
      if (target === undefined) {
        if (own.above === undefined) throw new HttpError(404, "the address does not name a bucket");
        return own.above(received, caller);
      }
      const { path, slash } = target;
      const opened = await openBucket(received, caller, { name: target.bucket, permissions });
      const method = methodOf(request);
      const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined;
      if (verb === undefined) return methodNotAllowed(methodsFor(verbs));
      const dav = { ...opened, received, request, path, slash, makesParents: opened.isDeploy };
      return inSpan(`${name}::${request.method}`, { ...whoFields(caller), bucket: target.bucket, path }, () =>
        verb.serve(dav),
      );
    },
    toResponse(error, { request, target: { bucket, path } = unknownTarget }) {
      const isFault = error instanceof Fault && error.kind !== "PermissionDenied";
      if (error instanceof HttpError && error.options.condition !== undefined)
        return conditionResponse(error);
      const response = isFault ? faultResponse(error, bucket, path) : refusalOf(error, request, challenge);
      const exists = error instanceof HttpError ? error.options.target : "folder";
      if (response.status === 405 && exists !== undefined)
        response.headers.set("allow", methodsFor(verbs, exists).join(", "));
      return response;
    },
    finish(response, request) {
      for (const [name, value] of headers) response.headers.set(name, value);
      // Pages of other buckets share the browser's cache (`fetch` with `force-cache`) and have no credentials.
      if (isFromBrowser(request)) response.headers.set("cache-control", "no-store");
    },
    logged: (target) => ({ bucket: target?.bucket, path: target?.path }),
  };
}

/** The methods for `Allow`: all, or those that can be used on what exists at a path. */
function methodsFor(verbs: FileProtocol["verbs"], target?: "file" | "folder"): readonly string[] {
  const rows = Object.entries(verbs).filter(
    ([, { notOn = [] }]) => target === undefined || !notOn.includes(target),
  );
  return ["OPTIONS", ...rows.map(([method]) => method)];
}

const unknownTarget: DavPath = { bucket: "", path: treeRoot, slash: false };

/** Every verb needs all four, because clients mix them freely in one session. */
const filePermissions = [
  "static_bucket_file.read",
  "static_bucket_file.write",
  "static_bucket_file.delete",
  "static_bucket_file.list",
] as const;

/** webdav is RFC 4918 on the files of buckets. */
export const webdav = fileProtocol({
  name: "webdav",
  prefix: webdavPrefix,
  permissions: filePermissions,
  headers: davCors,
  options,
  verbs,
  above: async (received, caller) =>
    received.request.method === "PROPFIND"
      ? listAboveBuckets(received, caller)
      : methodNotAllowed(methodsAboveBuckets),
});

/** What can be done with the folders above all buckets. */
const methodsAboveBuckets = ["OPTIONS", "PROPFIND"] as const;

const noLocks = new LockIndex([], 0);

/**
 * listAboveBuckets answers PROPFIND for `/node/static-webdav/`, which holds the buckets that the caller may open, and for `/node/`,
 * which holds that folder. So one address mounts all buckets, and clients that walk down from the top find their way.
 */
async function listAboveBuckets(received: ReceivedRequest<unknown>, caller: Caller): Promise<Response> {
  const { request, path } = received;
  const depth = depthOf({ request }, [0, 1, "infinity"], "infinity");
  const query = await readQuery(request);
  if (depth === "infinity")
    throw new HttpError(403, "folders above the buckets are listed with Depth 0 or 1", {
      condition: "<D:propfind-finite-depth/>",
    });
  const writer = new PropertyWriter(query);
  async function* responses(): AsyncGenerator<string | Uint8Array> {
    const text = new TextParts();
    const isTop = !path.startsWith(webdavPrefix);
    const own = isTop ? folderAt("/node/") : folderAt(`${webdavPrefix}/`);
    const members = isTop ? [folderAt(`${webdavPrefix}/`)] : openableBuckets(received, caller);
    writer.describe(own, undefined, text);
    if (depth === 1) for await (const member of members) writer.describe(member, undefined, text);
    yield* text.take();
  }
  return multistatus(request, responses());
}

async function* openableBuckets(
  { request, services: { buckets }, deps: { turns } }: ReceivedRequest<unknown>,
  caller: Caller,
): AsyncGenerator<Resource> {
  for (const bucket of await buckets.all()) {
    await turns.pause(request);
    if (!bucket.enable || !isAuthorised(caller, inBucket(bucket.name, ...filePermissions))) continue;
    const entry = await buckets.filesOf(bucket).reader.find(treeRoot);
    if (entry !== undefined) yield { entry, bucket: bucket.name, locks: noLocks, diskUsage: undefined };
  }
}

/** A folder that nothing keeps, so that its times are unknown. */
function folderAt(href: string): Resource {
  const stats = {
    size: 0,
    modifiedMs: 0,
    accessedMs: 0,
    createdMs: 0,
    etag: "",
    settledAtMs: 0,
  };
  const entry: FileEntry = {
    path: treeRoot,
    kind: "folder",
    stats,
    snapshot() {
      throw new Error("a folder above the buckets has no state");
    },
  };
  return { entry, href, bucket: href.split("/").at(-2) ?? "", locks: noLocks, diskUsage: undefined };
}
