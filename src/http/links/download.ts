import { splitPath } from "../../buckets/path.ts";
import type { OpenFile } from "../../buckets/ports.ts";
import { toValidators } from "../content/conditions.ts";
import { sandboxed } from "../content/media-type.ts";
import { errorReason } from "../content/plain.ts";
import { isRangeMissing, needsContent, respond } from "../content/respond.ts";
import { plainVariant } from "../content/variants.ts";
import { HttpError } from "../request/http-error.ts";
import type { LinkRequest } from "./link-request.ts";

/** download sends the file of a link; undefined if there is none. */
export async function download(linked: LinkRequest): Promise<Response | undefined> {
  const { request, link, path, files, audit, bucket } = linked;
  const found = await files.reader.openOrFind(path);
  if (found === undefined || "kind" in found) return undefined;
  const validators = toValidators(found.stats);
  const isSent = needsContent(request, validators) && !isRangeMissing(request, validators, found.stats.size);
  if (isSent) await count(linked, found);
  const plain = await plainVariant(found, path, request);
  const response = respond(request, { ...plain, headers: sandboxed(plain.headers) });
  // Each part is counted, so clients should not read in parts unless they resume a download.
  if (link.isCounted) response.headers.set("accept-ranges", "none");
  // The answer to a form cannot be loaded again, so it is saved.
  if (request.method === "POST")
    response.headers.set("content-disposition", attachmentOf(splitPath(path).name));
  if (isSent && link.name !== undefined)
    audit("link.used", { bucket: bucket.name, path, kind: "download", link: link.name.id });
  return response;
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
