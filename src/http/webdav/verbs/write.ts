import { httpDate } from "../../../base/clock.ts";
import { isBelow, treeRoot } from "../../../buckets/path.ts";
import { folderExists } from "../../../buckets/ports.ts";
import { uploadBody } from "../../request/body.ts";
import { HttpError } from "../../request/http-error.ts";
import {
  type DavRequest,
  depthOf,
  hrefOf,
  modifiedOf,
  parseDestination,
  requireEntry,
  requireParent,
  writeConditions,
} from "../dav-request.ts";
import { failureCount, failuresResponse } from "../error-response.ts";

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

export function copy(dav: DavRequest): Promise<Response> {
  return transfer(dav, "copy");
}

export function move(dav: DavRequest): Promise<Response> {
  return transfer(dav, "move");
}

async function transfer(dav: DavRequest, kind: "copy" | "move"): Promise<Response> {
  const { request, files, path, bucket, audit } = dav;
  const destination = parseDestination(request.headers.get("destination"), bucket.name);
  const overwrite = overwriteOf(request);
  const [source, target] = await Promise.all([
    files.reader.resolve(path),
    files.reader.resolve(destination.path),
  ]);
  const entry = requireEntry(dav, source);
  // RFC 4918 §9.9.2: a folder is moved with all of its content.
  const maybeShallow = kind === "copy" || entry.kind === "file";
  const depth = depthOf(dav, maybeShallow ? [0, "infinity"] : ["infinity"], "infinity");
  const [from, to] = [source.path, target.path];
  if (from === to || isBelow(to, from) || isBelow(from, to)) throw overlap();
  requireParent(target);
  const options = { overwrite, conditions: writeConditions(dav), signal: request.signal };
  const done =
    kind === "copy"
      ? await files.copy(path, destination.path, { ...options, recursive: depth === "infinity" })
      : await files.move(path, destination.path, options);
  if (done === "overlap") throw overlap();
  if (done === "exists") throw new HttpError(412, "the destination exists (Overwrite: F)");
  const act = { bucket: bucket.name, path: from, to, ...failureCount(done.failures) };
  audit(kind === "copy" ? "file.copied" : "file.moved", act);
  if (done.failures.length > 0) return failuresResponse(done.failures, bucket.name);
  return new Response(null, {
    status: done.replaced ? 204 : 201,
    headers: done.replaced ? {} : { location: hrefOf(bucket.name, to, entry.kind) },
  });
}

function overlap(): HttpError {
  return new HttpError(403, "source and destination are the same, or one contains the other");
}

function overwriteOf({ headers }: Request): boolean {
  const header = headers.get("overwrite")?.trim().toUpperCase() ?? "T";
  if (header !== "T" && header !== "F") throw new HttpError(400, "Overwrite must be T or F");
  return header === "T";
}
