import { writeConditions } from "../conditions.ts";
import { type DavRequest, modifiedOf, requireParent } from "../dav-request.ts";
import { HttpError } from "../http-error.ts";

export async function mkcol(dav: DavRequest): Promise<Response> {
  const { request, files, path } = dav;
  for await (const chunk of request.body ?? [])
    if (chunk.length > 0) throw new HttpError(415, "MKCOL must not have a body");
  const present = await files.tree.find(path);
  if (present !== undefined) throw exists(present.kind);
  await requireParent(files, path);
  const modified = modifiedOf(dav);
  if (!(await files.makeFolder(path, writeConditions(dav), { modified })))
    throw exists((await files.tree.find(path))?.kind ?? "folder");
  return new Response(null, {
    status: 201,
    headers: modified === undefined ? {} : { "x-oc-mtime": "accepted" },
  });
}

function exists(target: "file" | "folder"): HttpError {
  return new HttpError(405, `a ${target} exists at this address already`, { target });
}
