import type { Audit } from "../../auth/audit-log.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import { type Segment, splitPath, type TreePath } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Grant } from "../../buckets/write-conditions.ts";
import { linkPrefix, parseCode } from "../../links/link-code.ts";
import type { Links, ValidLink } from "../../links/links.ts";
import { isWorkerScript } from "../request/browser-request.ts";
import { decodePath } from "../static/decode-path.ts";

/** LinkRequest is a request whose link and password are right. */
export interface LinkRequest {
  readonly request: Request;
  readonly link: ValidLink;
  /** The file, or the folder of a drop box or an archive. */
  readonly path: TreePath;
  readonly bucket: Bucket;
  readonly files: BucketFiles;
  readonly links: Links;
  /** Reads the link and the bucket again, for the time after a long body. */
  readonly grant: Grant;
  /** Records what was done, in the name of the token that made the link. */
  readonly audit: Audit;
}

/** RequestedLink is what a request says of a link. Nothing of it is proven. */
export interface RequestedLink {
  readonly code: string;
  readonly kind: "download" | "upload" | "zip";
  readonly bucket: string;
  /** Of the file, or of the folder of a drop box or an archive. */
  readonly path: TreePath;
  /** The file to add to the folder. */
  readonly fileName: Segment | undefined;
}

/** parseRequestedLink reads the address of a request; undefined if it can be no link. */
export function parseRequestedLink(rawPath: string, request: Request): RequestedLink | undefined {
  const [code = "", bucket, ...rest] = rawPath.slice(linkPrefix.length).split("/");
  const kind = parseCode(code)?.kind;
  const decoded = decodePath(rest.join("/"));
  if (kind === undefined || kind === "preview" || bucket === undefined || decoded === undefined)
    return undefined;
  // A service worker would see what other people do with the link.
  if (isWorkerScript(request)) return undefined;
  const { path, slash } = decoded;
  const isUpload = kind === "upload" && request.method === "PUT";
  if (slash && (isUpload || kind !== "upload")) return undefined;
  // The name of the archive is for whoever saves it.
  if (kind === "zip") return { code, kind, bucket, path: splitPath(path).folder, fileName: undefined };
  if (!isUpload) return { code, kind, bucket, path, fileName: undefined };
  const { folder, name } = splitPath(path);
  return { code, kind, bucket, path: folder, fileName: name };
}
