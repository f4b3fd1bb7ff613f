import { Fault } from "../../base/fault.ts";
import { type TreePath, treePath, treeRoot } from "../../buckets/path.ts";
import type { FileEntry } from "../../buckets/ports.ts";
import { HttpError } from "../request/http-error.ts";

export const webdavPrefix = "/node/static-webdav";

/** DavPath is a path inside a bucket, as a URL names it. */
export interface DavPath {
  readonly bucket: string;
  readonly path: TreePath;
  /** Whether the URL ends in a slash, as a folder's does. */
  readonly slash: boolean;
}

/** parseDavPath percent-decodes each segment once and ignores empty ones. Undefined if the path names no bucket. */
export function parseDavPath(rawPath: string, prefix = webdavPrefix): DavPath | undefined {
  if (rawPath.includes("#")) throw new HttpError(400, "a request's path must not contain a fragment (#)");
  if (rawPath !== prefix && !rawPath.startsWith(`${prefix}/`)) return undefined;
  try {
    const names = namesIn(rawPath.slice(prefix.length));
    if (names === "") return undefined;
    const end = names.indexOf("/");
    if (end < 0) return { bucket: names, path: treeRoot, slash: true };
    const path = treePath(names.slice(end + 1));
    return { bucket: names.slice(0, end), path, slash: rawPath.endsWith("/") };
  } catch (error) {
    if (error instanceof URIError) throw new HttpError(400, "the path has an invalid percent-encoding");
    if (error instanceof Fault) throw new HttpError(400, error.detail);
    throw error;
  }
}

/** The segments of a path, decoded, with one slash between them. */
function namesIn(path: string): string {
  // Most paths need no decoding, which takes longer than the rest.
  if (!path.includes("%") && !path.includes("//")) return path.slice(1, path.endsWith("/") ? -1 : undefined);
  const segments = path
    .split("/")
    .filter((segment) => segment !== "")
    .map(decodeURIComponent);
  if (segments.some((segment) => segment.includes("/")))
    throw new HttpError(400, "a name must not contain a slash");
  return segments.join("/");
}

/** pathOfUrl returns the path of a URL or of a path alone. Scheme and host are ignored: a proxy may have changed them. */
export function pathOfUrl(url: string): string {
  return url
    .trim()
    .replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, "")
    .replace(/\?.*$/, "");
}

/** parseDestination reads the Destination header of COPY and MOVE, which must be in the same bucket. */
export function parseDestination(header: string | null, bucket: string): DavPath {
  if (header === null) throw new HttpError(400, "the Destination header is missing");
  const path = pathOfUrl(header);
  if (!path.startsWith("/")) throw new HttpError(400, "Destination is not a URL or a path");
  const destination = parseDavPath(path);
  if (destination?.bucket !== bucket)
    throw new HttpError(502, "Destination is outside this bucket; copy through the client instead");
  return destination;
}

/** hrefOf returns the path of a resource, fully encoded. A folder's ends in a slash. */
export function hrefOf(
  bucket: string,
  path: TreePath,
  kind: FileEntry["kind"],
  prefix = webdavPrefix,
): string {
  const encoded = path === treeRoot ? "" : `/${encodePath(path)}`;
  return `${prefix}/${bucket}${encoded}${kind === "folder" ? "/" : ""}`;
}

/** Most paths consist of characters that need no encoding. */
function encodePath(path: TreePath): string {
  return /^[\w/.-]*$/.test(path) ? path : path.split("/").map(encodeURIComponent).join("/");
}
