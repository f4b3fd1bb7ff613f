import { isBelow } from "../../../buckets/path.ts";
import { HttpError } from "../../request/http-error.ts";
import { writeConditions } from "../conditions.ts";
import { hrefOf, parseDestination } from "../dav-path.ts";
import { type DavRequest, depthOf, requireEntry, requireParent } from "../dav-request.ts";
import { failureCount, failuresResponse } from "../error-response.ts";

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
