import { httpDate } from "../../base/clock.ts";
import { wholeNumber } from "../../base/numbers.ts";
import type { BucketFiles, WriteOptions, WrittenFile } from "../../buckets/bucket-files.ts";
import { isAscii, segmentsOf, type TreePath, treeRoot } from "../../buckets/path.ts";
import type { FileEntry, OpenFile } from "../../buckets/ports.ts";
import type { WriteConditions } from "../../buckets/write-conditions.ts";
import { plainOnly } from "../content/compression.ts";
import { toValidators } from "../content/conditions.ts";
import { inSandbox } from "../content/media-type.ts";
import { respond } from "../content/respond.ts";
import { plainVariant, snapshotOrDispose } from "../content/variants.ts";
import { BodyChecksums, checksumHeaders, checksumNamed } from "./checksums.ts";
import { errorElements, S3Error, toS3Error } from "./errors.ts";
import {
  conditionEtag,
  etagOf,
  folderRecord,
  readObject,
  recordHeaders,
  type S3Object,
  withoutRecord,
} from "./object-record.ts";
import { assertPolicy, postedAnswer } from "./posted-form.ts";
import {
  filePath,
  noSuchKey,
  objectKey,
  objectUrl,
  parseDocument,
  readDocument,
  receiving,
  type S3Call,
  type StagedBody,
  stageBody,
  stageWith,
  tooLarge,
  writeConditions,
} from "./s3-call.ts";
import { decoded } from "./signature.ts";
import { childrenNamed, childText, element, xmlAnswer } from "./xml.ts";

const maxDeleted = 1000;
const maxDeleteBytes = 2 * 1024 * 1024;
/** Parameters by which a signed address changes headers of the answer. */
const responseHeaders = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "expires",
] as const;

/** getObject answers GET and HEAD of an object; of a folder it is empty. */
export async function getObject(call: S3Call): Promise<Response> {
  const { key, cache, bucket, request } = call;
  const { path, isFolder } = objectKey(key);
  if (isFolder) return getFolder(call, path);
  // Parameters change the headers of the answer: it is kept without them.
  const cacheKey = isPlain(call) ? memoryKey(bucket.name, path, checksumsWanted(request)) : undefined;
  const known =
    cacheKey === undefined ? undefined : cache.answer(asTags(request), cache.get(cacheKey), { bucket });
  return withErrors(known ?? (await readAndAnswer(call, path, cacheKey)));
}

/** memoryKey returns the key of an answer in memory; with its checksums, which clients ask for, it is another one. */
export function memoryKey(bucket: string, path: string, hasChecksums: boolean): string {
  return `\0s3${hasChecksums ? "+" : ""}\0${bucket}\0${path}`;
}

function isPlain({ query }: S3Call): boolean {
  return query.size === 0 || ![...query.keys()].some((name) => /^(?:partNumber|response-.*)$/.test(name));
}

async function readAndAnswer(call: S3Call, path: TreePath, cacheKey: string | undefined): Promise<Response> {
  const { files, request, cache, bucket } = call;
  const changed = overrides(call);
  const { file, object } = await openObject(files, path);
  // As over WebDAV: a file that is read once is not worth a place in memory.
  const mayCache = cacheKey !== undefined && file.isReadAgain === true && cache.canCompare;
  const snapshot = mayCache ? await snapshotOrDispose(file) : undefined;
  const part = await orDispose(file, () => partRequest(call, object));
  const asked = asTags(part ?? request);
  const validators = { ...toValidators(file.stats), etag: object.etag };
  const rest = await plainVariant(file, path, asked, validators);
  const { "cache-control": _, ...headers } = rest.headers;
  const partsCount = object.content?.parts?.length;
  const representation = {
    ...rest,
    headers: inSandbox({
      ...headers,
      ...object.headers,
      ...(checksumsWanted(request) && checksumAnswer(object)),
      ...(part !== undefined && partsCount !== undefined && { "x-amz-mp-parts-count": String(partsCount) }),
      ...changed,
      etag: object.etag,
    }),
  };
  if (snapshot !== undefined && cacheKey !== undefined)
    cache.add(
      { key: cacheKey, bucket, compressible: false },
      { representation, accepted: plainOnly, dependencies: [snapshot], source: snapshot },
    );
  return respond(asked, representation);
}

/** Closes a file if what is asked of it does not exist. */
async function orDispose<T>(file: OpenFile, ask: () => T): Promise<T> {
  try {
    return ask();
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** S3 has documents for errors. */
function withErrors(answer: Response): Response {
  if (answer.status === 412) throw new S3Error("PreconditionFailed", "a condition of the request is not met");
  if (answer.status === 416) {
    const range = answer.headers.get("content-range");
    throw new S3Error(
      "InvalidRange",
      "the object has no such range",
      range ? { "content-range": range } : {},
    );
  }
  return answer;
}

/** Opens a file with what S3 knows of it. If it is replaced between the two reads, it is opened again. */
async function openObject(
  files: BucketFiles,
  path: TreePath,
): Promise<{ readonly file: OpenFile; readonly object: S3Object }> {
  for (let attempt = 1; ; attempt += 1) {
    const file = await files.reader.openOrFind(path);
    if (file === undefined || "kind" in file) throw noSuchKey();
    try {
      const object = await objectAt(files, path, file.stats);
      if (object.content !== undefined || attempt === 2) return { file, object };
      const now = await files.reader.find(path);
      if (now === undefined || now.stats.etag === file.stats.etag) return { file, object };
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
    await file[Symbol.asyncDispose]();
  }
}

/** A record that is a property is under the one path of the file, which links and other Unicode forms of names lead to. */
async function objectAt(files: BucketFiles, path: TreePath, stats: FileEntry["stats"]): Promise<S3Object> {
  const asked = await readObject(files, { path, kind: "file", stats });
  if (stats.record !== undefined || (asked.content !== undefined && isAscii(path))) return asked;
  const { path: real } = await files.reader.resolve(path);
  return real === path ? asked : readObject(files, { path: real, kind: "file", stats });
}

/** Reads what exists at a key, without its content; NoSuchKey if nothing does. */
export async function findObject(
  files: BucketFiles,
  key: string,
): Promise<{ readonly entry: FileEntry; readonly object: S3Object }> {
  const { path, isFolder } = objectKey(key);
  const { entry } = await files.reader.resolve(path);
  if (entry === undefined || (entry.kind === "folder") !== isFolder) throw noSuchKey();
  const object = isFolder ? await readObject(files, entry) : await objectAt(files, entry.path, entry.stats);
  return { entry, object };
}

async function getFolder({ files, key }: S3Call, path: TreePath): Promise<Response> {
  const { entry, object } = await findObject(files, key);
  if (path === treeRoot) throw noSuchKey();
  return new Response(null, {
    headers: {
      "content-type": "application/x-directory",
      ...object.headers,
      "content-length": "0",
      etag: object.etag,
      "last-modified": httpDate(entry.stats.modifiedMs),
    },
  });
}

/** `partNumber` asks for a part of a multipart upload, which is a range. */
function partRequest({ request, query }: S3Call, { content }: S3Object): Request | undefined {
  const text = query.get("partNumber");
  if (text === undefined) return undefined;
  const number = wholeNumber(text) ?? 0;
  const parts = content?.parts;
  if (number === 1 && (parts?.length ?? 1) === 1) return undefined;
  const size = parts?.[number - 1];
  if (parts === undefined || size === undefined) throw new S3Error("InvalidRange", "there is no such part");
  if (size === 0) throw new S3Error("InvalidRange", "the part is empty");
  const start = parts.slice(0, number - 1).reduce((sum, one) => sum + one, 0);
  const headers = new Headers(request.headers);
  headers.set("range", `bytes=${start}-${start + size - 1}`);
  return new Request(request.url, { method: request.method, headers });
}

/** S3 takes entity tags without quotes. */
function asTags(request: Request): Request {
  const bare = (["if-match", "if-none-match", "if-range"] as const).filter((name) => {
    const value = request.headers.get(name);
    return value !== null && /^[0-9a-f]{32}(-\d+)?$/.test(value);
  });
  if (bare.length === 0) return request;
  const headers = new Headers(request.headers);
  for (const name of bare) headers.set(name, `"${headers.get(name)}"`);
  return new Request(request.url, { method: request.method, headers });
}

export const checksumModeHeader = "x-amz-checksum-mode";

export function checksumsWanted({ headers }: Request): boolean {
  return headers.get(checksumModeHeader)?.toUpperCase() === "ENABLED" && !headers.has("range");
}

/** checksumAnswer returns the headers that tell the checksums of an object. */
export function checksumAnswer({ content }: Pick<S3Object, "content">): Record<string, string> {
  if (content?.checksums === undefined) return {};
  return {
    ...checksumHeaders(content.checksums),
    "x-amz-checksum-type": content.composite ? "COMPOSITE" : "FULL_OBJECT",
  };
}

function overrides({ query, signature }: S3Call): Record<string, string> {
  const found = responseHeaders.flatMap((name) => {
    const value = query.get(`response-${name}`);
    return value === undefined ? [] : [[name, value] as const];
  });
  if (found.length > 0 && signature === undefined)
    throw new S3Error("InvalidRequest", "response-* headers need a signature");
  if (found.some(([, value]) => !/^[\t -~]*$/.test(value)))
    throw new S3Error("InvalidArgument", "a response-* header has a character that headers cannot have");
  return Object.fromEntries(found);
}

/** putObject stores the body as a file. A failure leaves the old one unchanged. */
export async function putObject(call: S3Call): Promise<Response> {
  const { request, key, files } = call;
  const headers = recordHeaders(request.headers);
  const { path, isFolder } = objectKey(key);
  if (isFolder) return putFolder(call, headers);
  const conditions = await writeConditions(call, path);
  // A look at the body of a short one would make a stream of it.
  if (needsExamination(request) && request.body !== null)
    await files.examine(await files.reader.resolve(path), { conditions, makeParents: true });
  await using body = await stageBody(call, path, headers);
  const { record } = body;
  await writeObject(call, path, { body, conditions });
  return new Response(null, {
    headers: { etag: `"${etagOf(record)}"`, ...checksumAnswer({ content: record }) },
  });
}

/** postObject stores the file of a form of HTML, as its policy allows. Only the fields count: headers are not signed. */
export async function postObject(call: S3Call): Promise<Response> {
  const { form, bucket, files, key, maxUploadBytes, restartIdleTimer } = call;
  if (form === undefined)
    throw new S3Error("InvalidRequest", "POST to a bucket takes a form (multipart/form-data)");
  const { minBytes, maxBytes } = assertPolicy(form, bucket.name, call.now());
  const path = filePath(call);
  const headers = recordHeaders(form.fields);
  const conditions = await writeConditions(call, path);
  await files.examine(await files.reader.resolve(path), { conditions, makeParents: true });
  const checksums = new BodyChecksums(form);
  let size = 0;
  async function* content() {
    for await (const chunk of form?.content ?? []) {
      restartIdleTimer();
      size += chunk.length;
      if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooLarge(maxUploadBytes);
      if (size > maxBytes)
        throw new S3Error("EntityTooLarge", `the policy of the form allows ${maxBytes} bytes at most`);
      checksums.update(chunk);
      yield chunk;
    }
    if (size < minBytes)
      throw new S3Error("EntityTooSmall", `the policy of the form asks for ${minBytes} bytes at least`);
  }
  await using body = await stageWith(call, path, {
    content: content(),
    finish: () => ({ ...checksums.finish(new Map()), headers }),
  });
  await writeObject(call, path, { body, conditions });
  const etag = `"${etagOf(body.record)}"`;
  return postedAnswer(form, { bucket: bucket.name, key, etag, location: objectUrl(call) });
}

/** What forbids a long upload is said before it is sent. */
function needsExamination({ headers }: Request): boolean {
  return (wholeNumber(headers.get("content-length")) ?? Number.POSITIVE_INFINITY) > 64 * 1024;
}

interface NewObject {
  readonly body: Pick<StagedBody, "staged">;
  readonly conditions: WriteConditions;
  readonly onWritten?: WriteOptions["onWritten"];
}

/** writeObject puts a staged body in place, with its record. */
export async function writeObject(
  { files, bucket, audit }: S3Call,
  path: TreePath,
  { body, conditions, onWritten }: NewObject,
): Promise<WrittenFile> {
  const written = await files.write(path, body.staged, {
    makeParents: true,
    conditions,
    ...(onWritten && { onWritten }),
  });
  audit("file.written", { bucket: bucket.name, path, bytes: written.stats.size });
  return written;
}

/** putFolder makes a folder, with those above it, and remembers that it was put as an object. */
async function putFolder(call: S3Call, headers: Record<string, string>): Promise<Response> {
  const { files, bucket, key, audit, grant } = call;
  const { path } = objectKey(key);
  const { content, finish } = receiving(call);
  for await (const chunk of content())
    if (chunk.length > 0)
      throw new S3Error("InvalidArgument", "a key that ends in a slash is a folder, which has no content");
  finish();
  const conditions = await writeConditions(call, path);
  const found = await files.reader.resolve(path);
  await files.examine(found, { conditions });
  const authorised = { grant };
  if (found.entry === undefined) {
    let at = "";
    for (const name of segmentsOf(path)) {
      at = at === "" ? name : `${at}/${name}`;
      const folder = at as TreePath;
      const made = await files.makeFolder(folder, {}, authorised);
      if (made) audit("folder.created", { bucket: bucket.name, path: folder });
    }
  }
  if ((await files.reader.find(path))?.kind !== "folder")
    throw new S3Error("ObjectParentIsFile", "an object has this key without its slash; choose another key");
  await files.describe(path, { properties: folderRecord(headers), times: {} }, authorised);
  return new Response(null, { headers: { etag: '"d41d8cd98f00b204e9800998ecf8427e"' } });
}

/** copySource reads `x-amz-copy-source`, and opens what it names. */
export async function openSource(call: S3Call) {
  const header = call.request.headers.get("x-amz-copy-source") ?? "";
  const [text = "", version] = header.split("?versionId=", 2);
  if (version !== undefined && version !== "null")
    throw new S3Error("NotImplemented", "there are no versions over S3");
  const [, bucket = "", key = ""] = /^\/?([^/]+)\/(.+)$/.exec(decoded(text)) ?? [];
  if (key === "") throw new S3Error("InvalidArgument", "x-amz-copy-source must read <bucket>/<key>");
  const files = await call.openToRead(bucket);
  const { path, isFolder } = objectKey(key);
  if (isFolder)
    throw new S3Error("NotImplemented", "a folder cannot be copied; put it, and copy what it has");
  const opened = await openObject(files, path);
  try {
    assertSource(call.request.headers, opened);
    return { ...opened, path, bucket };
  } catch (error) {
    await opened.file[Symbol.asyncDispose]();
    throw error;
  }
}

function assertSource(
  headers: Headers,
  { file, object }: { readonly file: OpenFile; readonly object: S3Object },
): void {
  const one = (name: string) => headers.get(`x-amz-copy-source-${name}`);
  const modified = Math.floor(file.stats.modifiedMs / 1000) * 1000;
  const [match, noneMatch] = [one("if-match"), one("if-none-match")];
  const [since, unmodified] = [one("if-modified-since"), one("if-unmodified-since")];
  const fails =
    (match !== null && !conditionEtag(match, object.etag)) ||
    (noneMatch !== null && conditionEtag(noneMatch, object.etag)) ||
    (match === null && unmodified !== null && modified > Date.parse(unmodified)) ||
    (noneMatch === null && since !== null && modified <= Date.parse(since));
  if (fails) throw new S3Error("PreconditionFailed", "a condition of the request on the source is not met");
}

/** copyObject copies a file of a bucket that the caller may read. */
export async function copyObject(call: S3Call): Promise<Response> {
  const { request, bucket } = call;
  const path = filePath(call);
  const directive = request.headers.get("x-amz-metadata-directive") ?? "COPY";
  if (directive !== "COPY" && directive !== "REPLACE")
    throw new S3Error("InvalidArgument", "x-amz-metadata-directive must be COPY or REPLACE");
  const source = await openSource(call);
  if (directive === "COPY" && source.bucket === bucket.name && source.path === path) {
    await source.file[Symbol.asyncDispose]();
    throw new S3Error(
      "InvalidRequest",
      "an object is copied to itself only to replace its metadata: x-amz-metadata-directive: REPLACE",
    );
  }
  const conditions = await writeConditions(call, path);
  const headers = directive === "COPY" ? source.object.headers : recordHeaders(request.headers);
  await using body = await stageCopy(call, path, { ...source, headers, conditions });
  const { record } = body;
  const { stats } = await writeObject(call, path, { body, conditions });
  return xmlAnswer(
    "CopyObjectResult",
    element("ETag", `"${etagOf(record)}"`) +
      element("LastModified", new Date(stats.modifiedMs).toISOString()) +
      checksumElements({ content: record }),
  );
}

interface CopiedObject {
  readonly file: OpenFile;
  readonly object: S3Object;
  /** Those that the copy gets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly conditions: WriteConditions;
}

/** Content of a source that is being copied: it is read, so that its MD5 is known. */
async function stageCopy(
  call: S3Call,
  path: TreePath,
  { file, object, headers, conditions }: CopiedObject,
): Promise<StagedBody> {
  const { request, files, restartIdleTimer } = call;
  try {
    await files.examine(await files.reader.resolve(path), { conditions, makeParents: true });
    const checksums = checksumsToCopy(request, object);
    async function* content() {
      for await (const chunk of file.chunks()) {
        restartIdleTimer();
        request.signal.throwIfAborted();
        checksums.update(chunk);
        yield chunk;
      }
    }
    return await stageWith(call, path, {
      content: content(),
      finish: () => ({ ...checksums.finish(new Map()), headers }),
    });
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

/** The copy has the checksum that the request names, else those of the source. */
function checksumsToCopy(request: Request, { content }: S3Object): BodyChecksums {
  const asked = checksumNamed(request.headers.get("x-amz-checksum-algorithm"));
  const [kept] = Object.keys(content?.checksums ?? {});
  const algorithm = asked ?? kept;
  const headers = new Headers();
  if (algorithm !== undefined) headers.set("x-amz-sdk-checksum-algorithm", algorithm);
  return new BodyChecksums({ headers });
}

/** checksumElements are the checksums of an object in a document. */
export function checksumElements({ content }: Partial<Pick<S3Object, "content">>): string {
  const checksums = Object.entries(content?.checksums ?? {});
  if (checksums.length === 0) return "";
  const type = element("ChecksumType", content?.composite ? "COMPOSITE" : "FULL_OBJECT");
  return checksums.map(([name, value]) => element(`Checksum${name.toUpperCase()}`, value)).join("") + type;
}

/** deleteObject removes an object. What does not exist is deleted already. */
export async function deleteObject(call: S3Call): Promise<Response> {
  await removeKey(call, call.key, call.request.headers);
  return new Response(null, { status: 204 });
}

async function removeKey(call: S3Call, key: string, headers: Headers): Promise<void> {
  const { files, bucket, audit, grant } = call;
  const { path, isFolder } = objectKey(key);
  const { entry } = await files.reader.resolve(path);
  if (entry === undefined || (entry.kind === "folder") !== isFolder) {
    await grant.assertStillValid();
    if (headers.has("if-match")) throw noSuchKey();
    return;
  }
  const conditions = await writeConditions(call, path, headers);
  if (!isFolder) {
    if (await files.removeFile(path, conditions)) audit("file.deleted", { bucket: bucket.name, path });
    return;
  }
  if (await files.removeEmptyFolder(path, conditions)) {
    audit("file.deleted", { bucket: bucket.name, path });
    return;
  }
  await files.describe(path, { properties: withoutRecord, times: {} }, conditions);
  audit("file.described", { bucket: bucket.name, path });
}

/** deleteObjects removes up to a thousand objects, each by itself. */
export async function deleteObjects(call: S3Call): Promise<Response> {
  const body = await readDocument(call, maxDeleteBytes);
  const wanted = parseDocument(body, "Delete", maxDeleted * 6 + 10);
  const objects = childrenNamed(wanted, "Object");
  if (objects.length === 0 || objects.length > maxDeleted)
    throw new S3Error("MalformedXML", `the document must name 1 to ${maxDeleted} objects`);
  const isQuiet = childText(wanted, "Quiet") === "true";
  const answers: string[] = [];
  for (const object of objects) {
    call.restartIdleTimer();
    const key = childText(object, "Key") ?? "";
    const etag = childText(object, "ETag");
    const headers = new Headers(etag === undefined ? {} : { "if-match": etag });
    try {
      const version = childText(object, "VersionId") ?? "null";
      if (version !== "null") throw new S3Error("NotImplemented", "there are no versions over S3");
      await removeKey(call, key, headers);
      if (!isQuiet) answers.push(`<Deleted>${element("Key", key)}</Deleted>`);
    } catch (error) {
      const failed = toS3Error(error);
      if (failed === undefined) throw error;
      answers.push(`<Error>${element("Key", key)}${errorElements(failed)}</Error>`);
    }
  }
  return xmlAnswer("DeleteResult", answers.join(""));
}

/** getAttributes answers what is known of an object, as far as it is asked for. */
export async function getAttributes(call: S3Call): Promise<Response> {
  const { request, files, key } = call;
  const wanted = new Set(
    (request.headers.get("x-amz-object-attributes") ?? "").split(",").map((name) => name.trim()),
  );
  const { entry, object } = await findObject(files, key);
  const parts = object.content?.parts;
  const checksums = checksumElements(object);
  return xmlAnswer(
    "GetObjectAttributesResponse",
    (wanted.has("ETag") ? element("ETag", object.etag.replaceAll('"', "")) : "") +
      (wanted.has("Checksum") && checksums !== "" ? `<Checksum>${checksums}</Checksum>` : "") +
      (wanted.has("ObjectParts") && parts !== undefined
        ? `<ObjectParts>${element("TotalPartsCount", parts.length)}${element("PartsCount", parts.length)}</ObjectParts>`
        : "") +
      (wanted.has("StorageClass") ? element("StorageClass", "STANDARD") : "") +
      (wanted.has("ObjectSize") ? element("ObjectSize", entry.kind === "folder" ? 0 : entry.stats.size) : ""),
    { "last-modified": httpDate(entry.stats.modifiedMs) },
  );
}
