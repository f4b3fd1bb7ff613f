import type { Audit } from "../../auth/audit-log.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import { type Segment, splitPath, type TreePath } from "../../buckets/path.ts";
import type { OpenFile } from "../../buckets/ports.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Grant } from "../../buckets/write-conditions.ts";
import { linkPrefix, parseCode } from "../../links/link-code.ts";
import type { Links, ValidLink } from "../../links/links.ts";
import { toValidators } from "../content/conditions.ts";
import { mediaTypeOf, sandboxed } from "../content/media-type.ts";
import { errorReason } from "../content/plain.ts";
import { isRangeMissing, needsContent, respond } from "../content/respond.ts";
import { plainVariant } from "../content/variants.ts";
import { isWorkerScript } from "../request/browser-request.ts";
import { HttpError } from "../request/http-error.ts";
import { headersOverHttp } from "../s3/object-record.ts";
import { decodePath } from "../static/address.ts";

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

/** download sends the file of a link; undefined if there is none. */
export async function download(linked: LinkRequest): Promise<Response | undefined> {
  const { request, link, path, files, audit, bucket } = linked;
  const found = await files.reader.openOrFind(path);
  if (found === undefined || "kind" in found) return undefined;
  const validators = toValidators(found.stats);
  const isSent = needsContent(request, validators) && !isRangeMissing(request, validators, found.stats.size);
  // Without a limit a use is what begins at the first byte: players read a video in many parts.
  const isUse = isSent && (link.isCounted || beginsAtFirstByte(request));
  if (isUse) await count(linked, found);
  // Before the file is closed.
  const { "cache-control": _, expires: __, ...given } = headersOverHttp(found.stats, mediaTypeOf(path).value);
  const plain = await plainVariant(found, path, request);
  const response = respond(request, { ...plain, headers: sandboxed({ ...plain.headers, ...given }) });
  // Each part is counted, so clients should not read in parts unless they resume a download.
  if (link.isCounted) response.headers.set("accept-ranges", "none");
  // The answer to a form cannot be loaded again, so it is saved.
  if (request.method === "POST")
    response.headers.set("content-disposition", attachmentOf(splitPath(path).name));
  if (isUse && link.name !== undefined)
    audit("link.used", { bucket: bucket.name, path, kind: "download", link: link.name.id });
  return response;
}

function beginsAtFirstByte({ headers }: Request): boolean {
  return /^bytes=0-/.test(headers.get("range") ?? "bytes=0-");
}

/** Counts the download before anything is sent. */
async function count(linked: LinkRequest, file: OpenFile): Promise<void> {
  try {
    await countUse(linked);
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** countUse counts one use of a link; 410 if it is used up. */
export async function countUse({ links, link }: Pick<LinkRequest, "links" | "link">): Promise<void> {
  if (!(await links.count(link)))
    throw new HttpError(410, "Gone: this link has reached its limit", { headers: errorReason("used_up") });
}

/**
 * attachmentOf returns a Content-Disposition that saves the answer. RFC 8187 §3.2.1 encodes four characters more than
 * `encodeURIComponent`.
 */
export function attachmentOf(name: string): string {
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}
