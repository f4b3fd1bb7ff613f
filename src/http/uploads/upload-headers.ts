import { wholeNumber } from "../../base/numbers.ts";
import { childPath, pathSegment, type TreePath } from "../../buckets/path.ts";
import type { NewUpload, Upload } from "../../buckets/uploads/uploads.ts";
import { HttpError } from "../request/http-error.ts";
import { type DavRequest, modifiedOf } from "../webdav/dav-request.ts";

/** tusVersion is the version of the protocol: https://tus.io/protocols/resumable-upload. */
export const tusVersion = "1.0.0";
export const contentType = "application/offset+octet-stream";
const maxMetadataChars = 4096;
/** Conditions of the request that begins an upload hold when the file is put in place. `If` is that of each request: it names locks. */
const keptConditions = ["if-match", "if-none-match", "if-unmodified-since"] as const;

/** requireVersion throws 412 for a client that speaks another version of the protocol. */
export function requireVersion({ headers }: Request): void {
  if (headers.get("tus-resumable") === tusVersion) return;
  throw new HttpError(412, `this address takes uploads by tus; send Tus-Resumable: ${tusVersion}`, {
    headers: { "tus-version": tusVersion, "x-error-reason": "tus_version" },
  });
}

/** requireType throws 415 for a body that is not a piece of an upload. */
export function requireType({ headers }: Request): void {
  if (headers.get("content-type") !== contentType)
    throw new HttpError(415, `send the bytes with Content-Type: ${contentType}`);
  if ((headers.get("content-encoding")?.trim().toLowerCase() ?? "identity") !== "identity")
    throw new HttpError(415, "send the file as it is, without a content encoding");
}

/** integerIn reads a header that must be a number of bytes. */
export function integerIn({ headers }: Request, name: string): number {
  const text = headers.get(name);
  if (text === null) throw new HttpError(400, `${name} is missing`);
  const value = wholeNumber(text);
  if (value === undefined || value === Number.MAX_SAFE_INTEGER)
    throw new HttpError(400, `${name} is not a number of bytes`);
  return value;
}

/** newUploadOf reads what the request that begins an upload says about it. */
export function newUploadOf(dav: DavRequest): NewUpload {
  const { request, maxUploadBytes, caller } = dav;
  if (request.headers.has("upload-defer-length") || request.headers.has("upload-concat"))
    throw new HttpError(400, "the length must be told at the beginning, and the file sent as one upload");
  const length = integerIn(request, "upload-length");
  if (maxUploadBytes > 0 && length > maxUploadBytes)
    throw new HttpError(413, `the upload is above ${maxUploadBytes} bytes (max_upload_size)`);
  const modified = modifiedOf(dav)?.getTime();
  const sha256 = digestIn(request);
  const metadata = metadataIn(request);
  return {
    path: pathOf(dav, metadata),
    by: caller.key,
    length,
    conditions: Object.fromEntries(
      keptConditions.flatMap((name) => {
        const value = request.headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
    ...(modified !== undefined && { modified }),
    ...(sha256 !== undefined && { sha256 }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** conditionsOf are the conditions of an upload in the form of headers: those that it was begun with, and the `If` of this request. */
export function conditionsOf({ conditions }: Pick<Upload, "conditions">, { headers }: Request): Headers {
  const all = new Headers({ ...conditions });
  const lists = headers.get("if");
  if (lists !== null) all.set("if", lists);
  return all;
}

/** A client that knows only a folder's address names the file in `Upload-Metadata`. */
function pathOf({ path, slash }: DavRequest, metadata: string | undefined): TreePath {
  if (!slash) return path;
  const name = metadata
    ?.split(",")
    .map((pair) => pair.trim().split(" "))
    .find(([key]) => key === "filename");
  if (name?.[1] === undefined)
    throw new HttpError(
      400,
      "the address is that of a folder; add the file's name to it, or to Upload-Metadata (filename)",
    );
  return childPath(path, pathSegment(Buffer.from(name[1], "base64").toString("utf8")));
}

function metadataIn({ headers }: Request): string | undefined {
  const metadata = headers.get("upload-metadata") ?? undefined;
  if (metadata !== undefined && metadata.length > maxMetadataChars)
    throw new HttpError(400, `Upload-Metadata is above ${maxMetadataChars} characters`);
  return metadata;
}

/** `Repr-Digest` of RFC 9530: the hash that the whole content must have. Undefined without one of SHA-256. */
function digestIn({ headers }: Request): string | undefined {
  const header = headers.get("repr-digest");
  if (header === null) return undefined;
  const [, text] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(header) ?? [];
  if (text === undefined) throw new HttpError(400, "Repr-Digest has no sha-256=:<base64>:");
  return Buffer.from(text, "base64").toString("hex");
}
