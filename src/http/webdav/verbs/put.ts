import { httpDate } from "../../../base/clock.ts";
import { folderExists } from "../../../buckets/ports.ts";
import { HttpError } from "../../request/http-error.ts";
import { uploadBody } from "../../request/upload-body.ts";
import { writeConditions } from "../conditions.ts";
import { type DavRequest, modifiedOf } from "../dav-request.ts";

/** put stores the body as a file. A failure leaves the old file unchanged. */
export async function put(dav: DavRequest): Promise<Response> {
  const { received, files, path, slash, bucket, audit, makesParents } = dav;
  const modified = modifiedOf(dav);
  const conditions = writeConditions(dav);
  if (slash) {
    if ((await files.reader.find(path))?.kind === "folder") throw folderExists(path);
    throw new HttpError(409, "a file's address must not end in a slash");
  }
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
