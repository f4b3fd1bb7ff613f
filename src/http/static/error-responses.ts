import { STATUS_CODES } from "node:http";
import { Fault } from "../../base/fault.ts";
import { publicDetailOf } from "../../blobs/blob-store.ts";
import { treePath } from "../../buckets/path.ts";
import type { FileEntry, TreeReader } from "../../buckets/ports.ts";
import { blobMissing, isBlobMissing, plainText, serviceUnavailable } from "../content/plain.ts";
import { respondWhole } from "../content/respond.ts";
import { maxWholeBytes, selectVariant } from "../content/variants.ts";

/** noSuchFile returns the same response whether the bucket or the file does not exist. */
export function noSuchFile(): Response {
  return plainText(404, "404 Not Found: there is no such file.");
}

/** TreeOptions is the tree that an error page is read from, and headers that it gets beside its own. */
interface TreeOptions {
  readonly reader: TreeReader;
  readonly headers?: Readonly<Record<string, string>>;
  /** 404 unless it is given. */
  readonly status?: number;
}

/** missingFile answers with the bucket's own `404.html`, or with one line. */
export async function missingFile(request: Request, options: TreeOptions): Promise<Response> {
  const { reader, headers = {}, status = 404 } = options;
  const file = await reader.find(treePath("404.html"));
  return file?.kind === "file" ? errorPage(request, { reader, file, headers, status }) : errorLine(status);
}

function errorLine(status: number): Response {
  return status === 404 ? noSuchFile() : plainText(status, `${status} ${STATUS_CODES[status] ?? ""}`);
}

/** errorPage answers an error with a file of the bucket, or with one line if it is too large. */
export async function errorPage(
  request: Request,
  { reader, file, headers, status }: Required<TreeOptions> & { readonly file: FileEntry },
): Promise<Response> {
  if (file.stats.size > maxWholeBytes) return errorLine(status);
  const { representation } = await selectVariant(reader, file);
  const own = {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  };
  return respondWhole(request, { ...representation, headers: own }, status);
}

/** faultResponse answers for a file that could not be read. */
export function faultResponse(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  if (error.kind === "NotFound") return noSuchFile();
  if (error.kind === "InvalidInput") return plainText(400, `400 Bad Request: ${error.detail}.`);
  if (isBlobMissing(error)) return blobMissing(`502 Bad Gateway: ${publicDetailOf(error)}.`);
  return serviceUnavailable(publicDetailOf(error));
}
