import type { ResolvedPath } from "../../buckets/file-reader.ts";
import { childPath, type Segment, treeRoot } from "../../buckets/path.ts";
import { suffixes } from "../content/compression.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import { errorReason, plainText } from "../content/plain.ts";
import { HttpError } from "../request/http-error.ts";
import { uploadBody } from "../request/upload-body.ts";
import { countUse } from "./download.ts";
import type { LinkRequest } from "./link-request.ts";

export interface AddedFile {
  readonly name: Segment;
  /** 0 means no limit. */
  readonly maxUploadBytes: number;
  readonly restartIdleTimer: () => void;
  /** Reads the link and the bucket again, for the time after a long body. */
  readonly isStillValid: () => Promise<boolean>;
}

/** These change how a bucket is served. */
const reservedAtTop = new Set(["_headers", "_redirects"]);

/** addFile stores the body of a request as a new file of a drop box. It never replaces one. */
export async function addFile(
  { request, link, links, files, path: folder, bucket, audit }: LinkRequest,
  { name, maxUploadBytes, restartIdleTimer, isStillValid }: AddedFile,
): Promise<Response> {
  if (folder === treeRoot && reservedAtTop.has(name.toLowerCase()))
    throw new HttpError(
      403,
      "a file of this name changes how the bucket is served; it cannot be uploaded by a link",
    );
  if (isCompressedCopy(name))
    throw new HttpError(
      403,
      "a file of this name could be sent in place of the one without the ending; use another name, such as files.zip or files.tgz",
    );
  const path = childPath(folder, name);
  const conditions = {
    holdsLock: () => false,
    async assertPreconditions({ entry }: ResolvedPath) {
      if (!(await isStillValid()))
        throw new HttpError(410, "Gone: this link ended meanwhile; nothing was stored", {
          headers: errorReason("ended"),
        });
      if (entry !== undefined)
        throw new HttpError(409, "a file of this name exists, and a link replaces none; use another name");
    },
  };
  await countUse({ links, link });
  try {
    const upload = { request, files, path, maxUploadBytes, restartIdleTimer };
    const { stats } = await uploadBody(upload, { conditions, makeParents: true });
    audit("file.written", { bucket: bucket.name, path, bytes: stats.size });
  } catch (error) {
    await links.uncount(link);
    throw error;
  }
  const stored = link.name === undefined ? {} : { link: link.name.id };
  audit("link.used", { bucket: bucket.name, path, kind: "upload", ...stored });
  return plainText(201, `201 Created: ${name} is stored.`);
}

/**
 * isCompressedCopy is whether a file is sent in place of another one as soon as that exists, as `x.html.br` is for `x.html`. The
 * other one may come later, with an older time.
 */
function isCompressedCopy(name: string): boolean {
  const lower = name.toLowerCase();
  const suffix = Object.values(suffixes).find((one) => lower.endsWith(one));
  return suffix !== undefined && mediaTypeOf(lower.slice(0, -suffix.length)).compressible;
}
