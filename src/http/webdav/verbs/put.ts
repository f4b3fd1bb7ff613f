import { etagOf } from "../../../buckets/etag.ts";
import { bodyChunks } from "../../request/body-chunks.ts";
import { warrantOf } from "../conditions.ts";
import { modifiedOf, requireParent, type Visit } from "../dav-request.ts";
import { Refused } from "../http-error.ts";

/** Streamed to the disk beside the target, synced, renamed: whatever breaks before that leaves the old file and nothing else. */
export async function put(visit: Visit): Promise<Response> {
  const { request, files, path, maxUploadBytes } = visit;
  const { headers } = request;
  await refuseFolder(visit);
  // RFC 9110 §14.5: a part must not be stored as if it were the whole.
  if (headers.has("content-range"))
    throw new Refused(400, "a part of a file cannot be uploaded; send it whole");
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw new Refused(415, "send the file as it is, without a content encoding");
  const declared = lengthIn(headers, "content-length");
  const expected = lengthIn(headers, "x-expected-entity-length");
  if (maxUploadBytes > 0 && Math.max(declared ?? 0, expected ?? 0) > maxUploadBytes)
    throw tooBig(maxUploadBytes);
  await requireParent(files, path);
  const warrant = warrantOf(visit);
  await files.examine(path, warrant);
  await using staged = await files.stage(bodyOf(visit), path);
  for (const length of [declared, expected]) {
    if (length !== undefined && length !== staged.size)
      throw new Refused(400, `${staged.size} of ${length} bytes arrived; the file is unchanged`);
  }
  const modified = modifiedOf(visit);
  const { created, stats } = await files.write(path, staged, {
    makeParents: false,
    warrant,
    modified,
  });
  return new Response(null, {
    status: created ? 201 : 204,
    headers: {
      etag: etagOf(stats),
      "last-modified": stats.mtime.toUTCString(),
      ...(modified === undefined ? {} : { "x-oc-mtime": "accepted" }),
    },
  });
}

async function refuseFolder({ files, path, slash }: Visit): Promise<void> {
  if ((await files.tree.find(path))?.kind === "folder")
    throw new Refused(405, "a folder stands there; a file is put into it under a name", undefined, {
      allow: "OPTIONS, PROPFIND, PROPPATCH, GET, HEAD, DELETE, COPY, MOVE, LOCK, UNLOCK",
    });
  if (slash) throw new Refused(409, "a file's address does not end in a slash");
}

/** The body, within its limit. However slowly it comes, it is read as long as something comes: its sender has proven a token. */
async function* bodyOf({ request, maxUploadBytes, restartIdleTimer }: Visit): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    restartIdleTimer();
    size += chunk.byteLength;
    if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooBig(maxUploadBytes);
    yield chunk;
  }
}

function lengthIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  if (text === null) return undefined;
  if (!/^\d+$/.test(text)) throw new Refused(400, `${name} is no length`);
  return Number(text);
}

function tooBig(limit: number): Refused {
  return new Refused(413, `an upload may have ${limit} bytes (max_upload_size)`);
}
