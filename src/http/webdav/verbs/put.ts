import { httpDate } from "../../../base/clock.ts";
import type { ResolvedPath, WriteConditions } from "../../../buckets/ports.ts";
import { HttpError } from "../../request/http-error.ts";
import { uploadBody } from "../../request/upload-body.ts";
import { writeConditions } from "../conditions.ts";
import { type DavRequest, modifiedOf, requireParent } from "../dav-request.ts";

/** put stores the body as a file. A failure leaves the old file unchanged. */
export async function put(dav: DavRequest): Promise<Response> {
  const { received, files, path, bucket, audit, makesParents } = dav;
  const conditions = putConditions(dav);
  const modified = modifiedOf(dav);
  const upload = { files, path, conditions, makeParents: makesParents, modified };
  const { created, stats } = await uploadBody(received, upload);
  audit("file.written", { bucket: bucket.name, path, bytes: stats.size });
  return new Response(null, {
    status: created ? 201 : 204,
    headers: {
      etag: stats.etag,
      "last-modified": httpDate(stats.modifiedMs),
      ...(modified === undefined ? {} : { "x-oc-mtime": "accepted" }),
    },
  });
}

/** putConditions are what a file must satisfy to be put at the path of a request. `headers` may be others than those of the request. */
export function putConditions(dav: DavRequest, headers = dav.request.headers): WriteConditions {
  const conditions = writeConditions(dav, headers);
  return {
    ...conditions,
    async assertPreconditions(target, view) {
      refuseFolder(dav, target);
      if (!dav.makesParents || target.parent?.kind === "file") requireParent(target);
      await conditions.assertPreconditions(target, view);
    },
  };
}

function refuseFolder({ slash }: DavRequest, { entry }: ResolvedPath): void {
  if (entry?.kind === "folder")
    throw new HttpError(405, "a folder exists at this address; add a file name to it", { target: "folder" });
  if (slash) throw new HttpError(409, "a file's address must not end in a slash");
}
