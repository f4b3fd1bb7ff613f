import { Fault } from "../../base/fault.ts";
import { type TreePath, treePath, treeRoot } from "../../buckets/path.ts";
import { Refused } from "./http-error.ts";

export const webdavPrefix = "/node/static-webdav";

/** A place in a bucket, as an address names it. */
export interface Place {
  readonly bucket: string;
  readonly path: TreePath;
  /** Written as a folder, with a slash at its end. */
  readonly slash: boolean;
}

/** Decoded once, segment by segment; empty segments say nothing. Undefined when no bucket is named. */
export function parsePlace(rawPath: string): Place | undefined {
  if (rawPath.includes("#")) throw new Refused(400, "a fragment has no place in a request");
  if (rawPath !== webdavPrefix && !rawPath.startsWith(`${webdavPrefix}/`)) return undefined;
  try {
    const segments = rawPath
      .slice(webdavPrefix.length)
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent);
    if (segments.some((segment) => segment.includes("/")))
      throw new Refused(400, "a name may not hold a slash");
    const [bucket, ...rest] = segments;
    if (bucket === undefined) return undefined;
    const path = rest.length === 0 ? treeRoot : treePath(rest.join("/"));
    return { bucket, path, slash: rest.length === 0 || rawPath.endsWith("/") };
  } catch (error) {
    if (error instanceof URIError) throw new Refused(400, "the address is not encoded as it should be");
    if (error instanceof Fault) throw new Refused(400, error.detail);
    throw error;
  }
}

/** The path of an absolute address or of a path alone. Scheme and host are what a proxy made of them, so they do not count. */
export function pathOfAddress(address: string): string {
  return address
    .trim()
    .replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, "")
    .replace(/\?.*$/, "");
}

/** Where COPY and MOVE go: inside the same bucket. */
export function parseDestination(header: string | null, bucket: string): Place {
  if (header === null) throw new Refused(400, "the Destination header is missing");
  const path = pathOfAddress(header);
  if (!path.startsWith("/")) throw new Refused(400, "Destination is neither an address nor a path");
  const place = parsePlace(path);
  if (place?.bucket !== bucket)
    throw new Refused(502, "Destination is outside this bucket; copy through the client instead");
  return place;
}

/** The address of something in a bucket, as a path, fully encoded. A folder ends in a slash. */
export function hrefOf(bucket: string, path: TreePath, isFolder: boolean): string {
  const encoded = path === treeRoot ? "" : `/${path.split("/").map(encodeURIComponent).join("/")}`;
  return `${webdavPrefix}/${bucket}${encoded}${isFolder ? "/" : ""}`;
}
