import type { Audit } from "../../auth/audit-log.ts";
import type { Caller } from "../../auth/caller.ts";
import { Fault } from "../../base/fault.ts";
import { parseXml, type XmlElement, XmlError } from "../../base/xml.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { type TreePath, treePath } from "../../buckets/path.ts";
import type { StagedFile } from "../../buckets/ports.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Grant, WriteConditions } from "../../buckets/write-conditions.ts";
import type { MemoryCache } from "../static/memory-cache.ts";
import { BodyChecksums, type ChecksumName, type Checksums } from "./checksums.ts";
import { Body } from "./chunked-body.ts";
import { S3Error } from "./errors.ts";
import { type ContentRecord, conditionEtag, encodeRecord, readObject } from "./object-record.ts";
import type { PostedForm } from "./posted-form.ts";
import type { Query, Signature } from "./signature.ts";

/** S3Call is one request whose caller is authorised, as the operations on buckets see it. */
export interface S3Call {
  readonly request: Request;
  readonly query: Query;
  /** Undefined for a request without a signature. */
  readonly signature: Signature | undefined;
  /** Of a form of HTML alone. */
  readonly form: PostedForm | undefined;
  readonly caller: Caller;
  readonly bucket: Bucket;
  readonly files: BucketFiles;
  readonly buckets: Buckets;
  /** Files that are read often, in memory. */
  readonly cache: MemoryCache;
  /** Empty for an operation on the bucket. */
  readonly key: string;
  /** Records a change once it is made. */
  readonly audit: Audit;
  /** The address of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
  /** 0 means no limit. */
  readonly maxUploadBytes: number;
  /** To be called as a long body arrives: its client is slow, not gone. */
  readonly restartIdleTimer: () => void;
  /** Whether the caller and the bucket would be accepted now, for writes after a wait. */
  readonly grant: Grant;
  /** Opens another bucket, whose files the caller must be allowed to read. */
  readonly openToRead: (name: string) => Promise<BucketFiles>;
  readonly now: () => number;
}

/** ObjectKey is what a key names in a tree: a file, or with a slash at its end a folder. */
export interface ObjectKey {
  readonly path: TreePath;
  readonly isFolder: boolean;
}

/** objectKey reads a key. Throws S3Error for one that no tree can hold. */
export function objectKey(key: string): ObjectKey {
  const isFolder = key.endsWith("/");
  try {
    const path = treePath(isFolder ? key.slice(0, -1) : key);
    // A character has at most three bytes for each of its units.
    const isTooLong =
      path.length * 3 > maxNameBytes &&
      path.split("/").some((name) => Buffer.byteLength(name) > maxNameBytes);
    if (!isTooLong) return { path, isFolder };
  } catch (error) {
    if (!(error instanceof Fault) || error.data.reason === "name_too_long") throw error;
    throw new S3Error("InvalidArgument", `the key cannot be a path of files: ${error.detail}`);
  }
  throw new S3Error("KeyTooLongError", `a name between two slashes may have ${maxNameBytes} bytes`);
}

/** The longest name that file systems take. */
const maxNameBytes = 255;

/** keyOf is `objectKey` for an operation that needs a file. */
export function filePath({ key }: Pick<S3Call, "key">): TreePath {
  const { path, isFolder } = objectKey(key);
  if (isFolder) throw new S3Error("InvalidArgument", "the key ends in a slash, so it names a folder");
  return path;
}

/** objectUrl returns the address of an object. */
export function objectUrl({ bucketUrl, key }: Pick<S3Call, "bucketUrl" | "key">): string {
  return `${bucketUrl}/${key.split("/").map(encodeURIComponent).join("/")}`;
}

/** noSuchKey returns the error for a key that does not exist. */
export function noSuchKey(): S3Error {
  return new S3Error("NoSuchKey", "there is no object with this key");
}

/**
 * writeConditions returns what a change of a key must satisfy. The tags of S3 are not those of the store: a condition that holds now becomes
 * one on the tag that the store has now, so that it still holds in the turn of the change. S3 has no tokens of locks.
 */
export async function writeConditions(
  { files, grant, request }: Pick<S3Call, "files" | "grant" | "request">,
  path: TreePath,
  headers = request.headers,
): Promise<WriteConditions> {
  const [match, noneMatch] = [headers.get("if-match"), headers.get("if-none-match")];
  if (match === null && noneMatch === null) return { grant };
  if (noneMatch !== null && noneMatch.trim() !== "*")
    throw new S3Error("NotImplemented", "If-None-Match of a change must be *");
  const everything = { grant, ...(noneMatch !== null && { noneMatch: "*" as const }) };
  if (match === null) return everything;
  await grant.assertStillValid();
  const { entry } = await files.reader.resolve(path);
  if (entry === undefined) throw noSuchKey();
  const { etag } = await readObject(files, entry);
  if (!conditionEtag(match, etag))
    throw new S3Error("PreconditionFailed", "the condition If-Match is not met; nothing was changed");
  if (entry.kind === "folder") return everything;
  return { ...everything, match: [{ tag: entry.stats.etag, isWeak: false }] };
}

/** StagedBody is a body that is stored outside of the bucket, with its record. */
export interface StagedBody extends AsyncDisposable {
  readonly staged: StagedFile;
  readonly record: ContentRecord;
}

/** A body up to this size is read as a whole: a stream costs more than writing it. */
const maxWholeBytes = 16 * 1024;

/** Receiving is the body of a request, which is to be read by `content` or, if it is short, by `whole`. */
interface Receiving {
  readonly isShort: boolean;
  readonly content: () => AsyncGenerator<Uint8Array>;
  readonly whole: () => Promise<Uint8Array>;
  /** What was computed of the body, once all of it was read. Throws unless that is what the request says. */
  readonly finish: () => { readonly md5: string; readonly checksums: Checksums };
}

/** receiving returns the content of a request. `checksum` is computed even if the request does not name it. */
export function receiving(call: S3Call, checksum?: ChecksumName): Receiving {
  const { request, maxUploadBytes, restartIdleTimer } = call;
  const body = bodyOf(call);
  const { length } = body;
  if (maxUploadBytes > 0 && (length ?? 0) > maxUploadBytes) throw tooLarge(maxUploadBytes);
  const checksums = new BodyChecksums(request, checksum);
  return {
    isShort: length !== undefined && length <= maxWholeBytes,
    async *content() {
      let size = 0;
      for await (const chunk of body.chunks()) {
        restartIdleTimer();
        size += chunk.length;
        if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooLarge(maxUploadBytes);
        checksums.update(chunk);
        yield chunk;
      }
    },
    async whole() {
      const bytes = await body.bytes();
      checksums.update(bytes);
      return bytes;
    },
    finish: () => checksums.finish(body.trailer),
  };
}

/** stageBody stores the body of a request, with the record that it gets; nothing of it is visible yet. */
export async function stageBody(
  call: S3Call,
  path: TreePath,
  headers: Readonly<Record<string, string>>,
): Promise<StagedBody> {
  const { isShort, content, whole, finish } = receiving(call);
  return stageWith(call, path, {
    content: isShort ? await whole() : content(),
    finish: () => ({ ...finish(), headers }),
  });
}

interface StagedContent {
  readonly content: Uint8Array | AsyncIterable<Uint8Array>;
  /** Returns the record of the content once all of it was read, or throws why it is refused. */
  readonly finish: () => ContentRecord;
}

/** stageWith stores content with its record; nothing of it is visible yet. */
export async function stageWith(
  { files }: Pick<S3Call, "files">,
  path: TreePath,
  { content, finish }: StagedContent,
): Promise<StagedBody> {
  let record: ContentRecord | undefined;
  const staged = await files.stage(content, path, () => {
    record = finish();
    return encodeRecord(record);
  });
  // The store asks for the record before it returns.
  if (record === undefined) throw new TypeError("the record of the content was not asked for");
  return { staged, record, [Symbol.asyncDispose]: () => staged[Symbol.asyncDispose]() };
}

function bodyOf({ request, signature }: Pick<S3Call, "request" | "signature">): Body {
  if (signature === undefined) throw new S3Error("AccessDenied", "changes need a signature");
  return new Body(request, signature);
}

/** readDocument reads the body of a request that is a document, within bounds. `headers` are those that name its checksums. */
export async function readDocument(
  { request, signature }: Pick<S3Call, "request" | "signature">,
  maxBytes: number,
  headers = request.headers,
): Promise<Uint8Array> {
  const body = bodyOf({ request, signature });
  const checksums = new BodyChecksums({ headers });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body.chunks()) {
    size += chunk.length;
    if (size > maxBytes) throw new S3Error("MalformedXML", `the document exceeds ${maxBytes} bytes`);
    checksums.update(chunk);
    chunks.push(chunk);
  }
  checksums.finish(body.trailer);
  return Buffer.concat(chunks);
}

/** parseDocument reads the body of a request; MalformedXML unless it is a document with this root. */
export function parseDocument(bytes: Uint8Array, root: string, maxElements: number): XmlElement {
  try {
    const parsed = parseXml(bytes, maxElements);
    if (parsed.name === root) return parsed;
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    throw new S3Error("MalformedXML", `the body is not XML: ${error.message}`);
  }
  throw new S3Error("MalformedXML", `the body is not a ${root} element`);
}

/** tooLarge returns the error for content above `max_upload_size`. */
export function tooLarge(limit: number): S3Error {
  return new S3Error("EntityTooLarge", `the upload exceeds ${limit} bytes (max_upload_size)`);
}
