import { isBelow } from "../../../buckets/locks.ts";
import { treeRoot } from "../../../buckets/path.ts";
import type { Failure } from "../../../buckets/removal.ts";
import { warrantOf } from "../conditions.ts";
import { hrefOf, parseDestination } from "../dav-path.ts";
import { depthOf, modifiedOf, requireParent, type Visit } from "../dav-request.ts";
import { statusOf } from "../error-response.ts";
import { Refused } from "../http-error.ts";
import { statuses } from "../xml/multistatus.ts";

export async function mkcol(visit: Visit): Promise<Response> {
  const { request, files, path } = visit;
  for await (const chunk of request.body ?? [])
    if (chunk.length > 0) throw new Refused(415, "a folder is made without a body");
  const taken = () => new Refused(405, "something stands at this address already");
  if ((await files.tree.find(path)) !== undefined) throw taken();
  await requireParent(files, path);
  const modified = modifiedOf(visit);
  if (!(await files.makeFolder(path, warrantOf(visit), { modified }))) throw taken();
  return new Response(null, {
    status: 201,
    headers: modified === undefined ? {} : { "x-oc-mtime": "accepted" },
  });
}

export async function remove(visit: Visit): Promise<Response> {
  const { files, path, slash } = visit;
  if (path === treeRoot) throw new Refused(403, "a bucket is deleted with static-bucket_delete");
  const entry = await files.tree.find(path);
  if (entry === undefined || (entry.kind === "file" && slash))
    throw new Refused(404, "there is no such file or folder");
  // RFC 4918 §9.6.1: a folder goes whole or not at all.
  if (entry.kind === "folder") depthOf(visit, ["infinity"], "infinity");
  const failures = await files.remove(path, warrantOf(visit));
  return failures.length === 0 ? new Response(null, { status: 204 }) : failed(visit, failures);
}

export function copy(visit: Visit): Promise<Response> {
  return transfer(visit, "copy");
}

export function move(visit: Visit): Promise<Response> {
  return transfer(visit, "move");
}

async function transfer(visit: Visit, kind: "copy" | "move"): Promise<Response> {
  const { request, files, path, bucket, slash } = visit;
  const target = parseDestination(request.headers.get("destination"), bucket.name);
  const overwrite = overwriteOf(request);
  const entry = await files.tree.find(path);
  if (entry === undefined || (entry.kind === "file" && slash))
    throw new Refused(404, "there is no such file or folder");
  const alone = kind === "copy" || entry.kind === "file";
  const depth = depthOf(visit, alone ? [0, "infinity"] : ["infinity"], "infinity");
  const overlap = () => new Refused(403, "source and destination are the same, or one holds the other");
  const [from, to] = await Promise.all([files.canonical(path), files.canonical(target.path)]);
  if (from === to || isBelow(to, from) || isBelow(from, to)) throw overlap();
  await requireParent(files, to);
  const options = { overwrite, warrant: warrantOf(visit), signal: request.signal };
  const done =
    kind === "copy"
      ? await files.copy(from, to, { ...options, deep: depth === "infinity" })
      : await files.move(from, to, options);
  if (done === "one holds the other") throw overlap();
  if (done === "in the way") throw new Refused(412, "something stands at the destination (Overwrite: F)");
  if (done.failures.length > 0) return failed(visit, done.failures);
  return new Response(null, {
    status: done.replaced ? 204 : 201,
    headers: done.replaced ? {} : { location: hrefOf(bucket.name, to, entry.kind === "folder") },
  });
}

function overwriteOf({ headers }: Request): boolean {
  const header = headers.get("overwrite")?.trim().toUpperCase() ?? "T";
  if (header !== "T" && header !== "F") throw new Refused(400, "Overwrite must be T or F");
  return header === "T";
}

function failed({ bucket }: Visit, failures: readonly Failure[]): Response {
  return statuses(
    failures.map(({ path, fault }) => ({ href: hrefOf(bucket.name, path, false), status: statusOf(fault) })),
  );
}
