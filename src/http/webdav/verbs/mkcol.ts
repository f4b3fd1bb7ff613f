import { HttpError } from "../../request/http-error.ts";
import { writeConditions } from "../conditions.ts";
import { type DavRequest, modifiedOf, requireParent } from "../dav-request.ts";

export async function mkcol(dav: DavRequest): Promise<Response> {
  const { request, files, path, bucket, audit } = dav;
  for await (const chunk of request.body ?? [])
    if (chunk.length > 0) throw new HttpError(415, "MKCOL must not have a body");
  const target = await files.reader.resolve(path);
  if (target.entry !== undefined) throw exists(target.entry.kind);
  requireParent(target);
  const modified = modifiedOf(dav);
  if (!(await files.makeFolder(path, { modified }, writeConditions(dav))))
    throw exists((await files.reader.find(path))?.kind ?? "folder");
  audit("folder.created", { bucket: bucket.name, path });
  return new Response(null, {
    status: 201,
    headers: modified === undefined ? {} : { "x-oc-mtime": "accepted" },
  });
}

function exists(target: "file" | "folder"): HttpError {
  return new HttpError(405, `a ${target} exists at this address already`, { target });
}
