import { Fault } from "../../base/fault.ts";
import type { FileReader } from "../../buckets/file-store.ts";
import { publicDetailOf } from "../../buckets/objects/blob-faults.ts";
import { treePath } from "../../buckets/path.ts";
import { blobMissing, isBlobMissing, plainText, serviceUnavailable } from "../content/plain.ts";
import { respondWhole } from "../content/respond.ts";
import { maxWholeBytes, selectVariant } from "../content/variants.ts";

/** noSuchFile is the same whether the bucket or the file does not exist. */
export function noSuchFile(): Response {
  return plainText(404, "404 Not Found: there is no such file.");
}

/** missingFile answers with the bucket's own `404.html`, or with one line. */
export async function missingFile(request: Request, reader: FileReader): Promise<Response> {
  const own = await reader.find(treePath("404.html"));
  if (own?.kind !== "file" || own.stats.size > maxWholeBytes) return noSuchFile();
  const { representation } = await selectVariant(reader, own);
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  return respondWhole(request, { ...representation, headers }, 404);
}

/** faultResponse answers for a file that could not be read. */
export function faultResponse(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return noSuchFile();
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  if (isBlobMissing(error)) return blobMissing(`502 Bad Gateway: ${publicDetailOf(error)}.`);
  return serviceUnavailable(publicDetailOf(error));
}
