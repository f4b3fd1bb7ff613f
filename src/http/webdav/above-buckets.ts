import { isAuthorised } from "../../auth/authorise.ts";
import type { Caller } from "../../auth/caller.ts";
import { inBucket } from "../../auth/need.ts";
import { LockIndex } from "../../buckets/metadata/locks.ts";
import { treeRoot } from "../../buckets/path.ts";
import type { FileEntry } from "../../buckets/ports.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { HttpError } from "../request/http-error.ts";
import { webdavPrefix } from "./dav-path.ts";
import { depthOf } from "./dav-request.ts";
import { readQuery } from "./verbs/propfind.ts";
import type { Resource } from "./xml/live-properties.ts";
import { multistatus, TextParts } from "./xml/multistatus.ts";
import { PropertyWriter } from "./xml/property-writer.ts";

/** What can be done with the folders above all buckets. */
export const methodsAboveBuckets = ["OPTIONS", "PROPFIND"] as const;

const noLocks = new LockIndex([], 0);

/** What it takes to open a bucket: every verb needs all four, because clients mix them freely in one session. */
export const filePermissions = [
  "static_bucket_file.read",
  "static_bucket_file.write",
  "static_bucket_file.delete",
  "static_bucket_file.list",
] as const;

/**
 * listAboveBuckets answers PROPFIND for `/node/static-webdav/`, which holds the buckets that the caller may open, and for `/node/`,
 * which holds that folder. So one address mounts all buckets, and clients that walk down from the top find their way.
 */
export async function listAboveBuckets(
  received: ReceivedRequest<unknown>,
  caller: Caller,
): Promise<Response> {
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
