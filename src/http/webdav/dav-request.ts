import { decimalNumber } from "../../base/numbers.ts";
import { type TreePath, treeRoot } from "../../buckets/path.ts";
import { type FileEntry, ParentMissing, type ResolvedPath } from "../../buckets/ports.ts";
import type { OpenedBucket, ReceivedRequest } from "../pipeline.ts";
import { HttpError } from "../request/http-error.ts";

/** DavRequest is one request whose caller is authorised, as the verbs see it. */
export interface DavRequest extends OpenedBucket {
  readonly received: ReceivedRequest<unknown>;
  readonly request: Request;
  readonly path: TreePath;
  /** Whether the URL ends in a slash, as a folder's does. */
  readonly slash: boolean;
  /** Whether a file is put also where the folders above it are missing. RFC 4918 wants that refused for PUT. */
  readonly makesParents: boolean;
}

export type Depth = 0 | 1 | "infinity";

/** depthOf reads the Depth header: RFC 4918 §10.2. */
export function depthOf(
  { request }: Pick<DavRequest, "request">,
  allowed: readonly Depth[],
  defaultDepth: Depth,
): Depth {
  const header = request.headers.get("depth")?.trim().toLowerCase();
  if (header === undefined) return defaultDepth;
  const depth = header === "0" ? 0 : header === "1" ? 1 : header === "infinity" ? header : undefined;
  if (depth === undefined || !allowed.includes(depth))
    throw new HttpError(400, `Depth must be ${allowed.join(" or ")} here`);
  return depth;
}

/** requireEntry returns what exists at the resolved path; 404 if nothing does, or if a file is named with a slash at its end. */
export function requireEntry({ slash }: DavRequest, { entry }: Pick<ResolvedPath, "entry">): FileEntry {
  if (entry === undefined || (entry.kind === "file" && slash))
    throw new HttpError(404, "there is no such file or folder");
  return entry;
}

/** requireParent throws 409 unless the parent folder exists: RFC 4918 §9.7.1. */
export function requireParent({ path, parent }: ResolvedPath): void {
  if (path !== treeRoot && parent?.kind !== "folder") throw new ParentMissing(path);
}

/** modifiedOf reads `X-OC-Mtime`: seconds since 1970, which some clients send to keep a file's time. 400 for anything else. */
export function modifiedOf({ request }: Pick<DavRequest, "request">): Date | undefined {
  const text = request.headers.get("x-oc-mtime");
  if (text === null) return undefined;
  const seconds = decimalNumber(text);
  const time = seconds === undefined ? undefined : fileTime(seconds * 1000);
  if (time === undefined)
    throw new HttpError(
      400,
      "X-OC-Mtime is not a number of seconds since 1970, or not of the years 1 to 9999",
    );
  return time;
}

const [firstMs, lastMs] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/** fileTime returns the time of a file; undefined if `Last-Modified` cannot name it: RFC 9110 §5.6.7. */
export function fileTime(ms: number): Date | undefined {
  return ms >= firstMs && ms <= lastMs ? new Date(ms) : undefined;
}
