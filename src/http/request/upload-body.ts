import { wholeNumber } from "../../base/numbers.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import type { FileStats } from "../../buckets/file-reader.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { WriteConditions } from "../../buckets/write-conditions.ts";
import { bodyChunks } from "./body-chunks.ts";
import { BodyDigests } from "./body-digests.ts";
import { HttpError } from "./http-error.ts";

/**
 * A body up to this size is read as a whole: a stream costs more than writing it. It usually arrives with its headers, and must arrive
 * within `idleSeconds`, because nothing shows its progress.
 */
const maxWholeBytes = 16 * 1024;

/** Upload is a request whose body becomes a file. */
export interface Upload {
  readonly request: Request;
  readonly files: BucketFiles;
  readonly path: TreePath;
  /** 0 means no limit. */
  readonly maxUploadBytes: number;
  /** To be called as a long body arrives: its client is slow, not gone. */
  readonly restartIdleTimer: () => void;
}

export interface UploadOptions {
  readonly conditions: WriteConditions;
  readonly makeParents: boolean;
  readonly modified?: Date | undefined;
}

/**
 * uploadBody writes the body to a staged file, syncs it and renames it. A failure before the rename leaves the old file unchanged. What
 * forbids the upload is checked in its turn; for a long body also before it is read. A body that is not what its digests say is refused.
 */
export async function uploadBody(
  upload: Upload,
  { conditions, makeParents, modified }: UploadOptions,
): Promise<{ readonly created: boolean; readonly stats: FileStats }> {
  const { request, files, path } = upload;
  const { declared, expected } = lengthsIn(upload);
  const isShort = declared !== undefined && declared <= maxWholeBytes;
  if (!isShort) await files.examine(await files.reader.resolve(path), conditions);
  const digests = new BodyDigests(request.headers);
  await using staged = await files.stage(
    isShort ? await shortBody(upload, digests) : bodyOf(upload, digests),
    path,
  );
  for (const length of [declared, expected]) {
    if (length !== undefined && length !== staged.size)
      throw new HttpError(400, `${staged.size} of ${length} bytes arrived; the file is unchanged`);
  }
  digests.assertRight();
  return await files.write(path, staged, { makeParents, conditions, modified });
}

/** The lengths that the headers announce. Throws for a body that cannot become the file: a part of it, encoded, or too large. */
function lengthsIn({ request: { headers }, maxUploadBytes }: Upload) {
  // RFC 9110 §14.5: a part must not be stored as if it were the whole.
  if (headers.has("content-range"))
    throw new HttpError(400, "a part of a file cannot be uploaded; send it whole");
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw new HttpError(415, "send the file as it is, without a content encoding");
  const declared = lengthIn(headers, "content-length");
  const expected = lengthIn(headers, "x-expected-entity-length");
  if (maxUploadBytes > 0 && Math.max(declared ?? 0, expected ?? 0) > maxUploadBytes)
    throw tooBig(maxUploadBytes);
  return { declared, expected };
}

async function shortBody({ request }: Upload, digests: BodyDigests): Promise<Uint8Array> {
  const bytes = await request.bytes();
  digests.update(bytes);
  return bytes;
}

/** The body, within its limit. However slow, it is read as long as bytes arrive: its sender has proven a token or a link. */
async function* bodyOf(
  { request, maxUploadBytes, restartIdleTimer }: Upload,
  digests: BodyDigests,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    restartIdleTimer();
    size += chunk.byteLength;
    if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooBig(maxUploadBytes);
    digests.update(chunk);
    yield chunk;
  }
}

function lengthIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  if (text === null) return undefined;
  const length = wholeNumber(text);
  if (length === undefined) throw new HttpError(400, `${name} is not a length`);
  return length;
}

function tooBig(limit: number): HttpError {
  return new HttpError(413, `the upload is above ${limit} bytes (max_upload_size)`);
}
