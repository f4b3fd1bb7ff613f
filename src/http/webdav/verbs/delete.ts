import { treeRoot } from "../../../buckets/path.ts";
import { HttpError } from "../../request/http-error.ts";
import { writeConditions } from "../conditions.ts";
import { type DavRequest, depthOf, requireEntry } from "../dav-request.ts";
import { failureCount, failuresResponse } from "../error-response.ts";

export async function remove(dav: DavRequest): Promise<Response> {
  const { files, path, bucket, audit } = dav;
  if (path === treeRoot) throw new HttpError(403, "a bucket is deleted with static-bucket_delete");
  const entry = requireEntry(dav, { entry: await files.reader.find(path) });
  // RFC 4918 §9.6.1: a folder is deleted with all of its content.
  if (entry.kind === "folder") depthOf(dav, ["infinity"], "infinity");
  const failures = await files.remove(path, writeConditions(dav));
  audit("file.deleted", { bucket: bucket.name, path, ...failureCount(failures) });
  return failures.length === 0
    ? new Response(null, { status: 204 })
    : failuresResponse(failures, bucket.name);
}
