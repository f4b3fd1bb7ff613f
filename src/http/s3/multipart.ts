import { mayActFor } from "../../auth/need.ts";
import { wholeNumber } from "../../base/numbers.ts";
import { noUpload } from "../../buckets/history/faults.ts";
import type { MultipartUpload, NumberedPart } from "../../buckets/history/multipart.ts";
import type { Grant } from "../../buckets/write-conditions.ts";
import {
  type ChecksumName,
  type Checksums,
  checksumHeaders,
  checksumNamed,
  checksumNames,
  combined,
  openChecksum,
} from "./checksums.ts";
import { S3Error } from "./errors.ts";
import { encoderIn, limitIn } from "./list.ts";
import { type ContentRecord, encodeRecord, etagOf, maxParts, recordHeaders } from "./object-record.ts";
import { checksumElements, openSource, writeObject } from "./objects.ts";
import {
  filePath,
  objectUrl,
  parseDocument,
  readDocument,
  receiving,
  type S3Call,
  type StagedBody,
  stageWith,
  tooLarge,
  writeConditions,
} from "./s3-call.ts";
import { childrenNamed, childText, element, xmlAnswer } from "./xml.ts";

const maxDocumentBytes = 2 * 1024 * 1024;

/** createUpload begins an upload in parts. */
export async function createUpload(call: S3Call): Promise<Response> {
  const { request, bucket, buckets, caller, key, files, grant } = call;
  const path = filePath(call);
  await readDocument(call, maxDocumentBytes);
  const headers = recordHeaders(request.headers);
  await files.examine(await files.reader.resolve(path), { conditions: { grant }, makeParents: true });
  const named = request.headers.get("x-amz-checksum-algorithm");
  const algorithm = checksumNamed(named);
  if (named !== null && algorithm === undefined)
    throw new S3Error("InvalidRequest", "x-amz-checksum-algorithm is not one that the server knows");
  const isComposite = compositeIn(request.headers.get("x-amz-checksum-type"), algorithm);
  const upload = await buckets.multipart.begin(bucket, {
    path,
    by: caller.key,
    headers,
    ...(algorithm && { checksum: { algorithm, isComposite } }),
  });
  return xmlAnswer(
    "InitiateMultipartUploadResult",
    element("Bucket", bucket.name) + element("Key", key) + element("UploadId", upload.name.id),
    algorithm && {
      "x-amz-checksum-algorithm": algorithm.toUpperCase(),
      "x-amz-checksum-type": isComposite ? "COMPOSITE" : "FULL_OBJECT",
    },
  );
}

/** Checksums of 64 bits are of the whole object, hashes are of the hashes of the parts; those of 32 bits are what the client wants. */
function compositeIn(type: string | null, algorithm: ChecksumName | undefined): boolean {
  if (algorithm === "crc64nvme") {
    if (type === "COMPOSITE") throw new S3Error("InvalidRequest", "CRC64NVME is a checksum of whole objects");
    return false;
  }
  if (type === "FULL_OBJECT" && algorithm?.startsWith("sha"))
    throw new S3Error("InvalidRequest", "SHA-1 and SHA-256 of an upload in parts are of type COMPOSITE");
  return type !== "FULL_OBJECT";
}

/** findUpload returns the upload that the address names, if the caller may use it. To everybody else it does not exist. */
async function findUpload(call: S3Call): Promise<MultipartUpload> {
  const { query, bucket, buckets, caller } = call;
  const id = query.get("uploadId") ?? "";
  if (!/^[A-Za-z0-9]{1,64}$/.test(id)) throw noUpload();
  const upload = await buckets.multipart.find(bucket, filePath(call), id);
  if (!mayActFor(caller, upload.by)) throw noUpload();
  return upload;
}

function partNumberIn({ query }: S3Call): number {
  const number = wholeNumber(query.get("partNumber") ?? "");
  if (number === undefined || number < 1 || number > maxParts)
    throw new S3Error("InvalidArgument", `partNumber must be a number from 1 to ${maxParts}`);
  return number;
}

async function requireOpen(call: S3Call): Promise<MultipartUpload> {
  const upload = await findUpload(call);
  if (upload.outcome !== undefined) throw noUpload();
  return upload;
}

/** uploadPart stores a part; one with the same number is replaced. */
export async function uploadPart(call: S3Call): Promise<Response> {
  const { buckets, bucket } = call;
  const number = partNumberIn(call);
  const upload = await requireOpen(call);
  const { content, finish } = receiving(call, checksumNamed(upload.multipart.checksum?.algorithm));
  const stored = await buckets.multipart.store(bucket.path, upload, content());
  const { md5, checksums } = await finished(call, stored, finish);
  await buckets.multipart.putPart(upload, { number, md5, checksums, stored });
  return new Response(null, { headers: { etag: `"${md5}"`, ...checksumHeaders(checksums) } });
}

/** The content of a part is deleted if it is not what the request says, or if the token has ended meanwhile. */
async function finished<T>(
  { buckets, grant }: S3Call,
  stored: Parameters<S3Call["buckets"]["multipart"]["forget"]>[0],
  finish: () => T,
): Promise<T> {
  try {
    const result = finish();
    await grant.assertStillValid();
    return result;
  } catch (error) {
    await buckets.multipart.forget(stored);
    throw error;
  }
}

/** copyPart stores a part that is an object, or a range of one. */
export async function copyPart(call: S3Call): Promise<Response> {
  const { request, buckets, bucket, restartIdleTimer, maxUploadBytes } = call;
  const number = partNumberIn(call);
  const upload = await requireOpen(call);
  const { file } = await openSource(call);
  const algorithm = upload.multipart.checksum?.algorithm as ChecksumName | undefined;
  const [md5, checksum] = [
    new Bun.CryptoHasher("md5"),
    algorithm === undefined ? undefined : openChecksum(algorithm),
  ];
  try {
    const range = sourceRange(request.headers.get("x-amz-copy-source-range"), file.stats.size);
    const size = range === undefined ? file.stats.size : range.end + 1 - range.start;
    if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooLarge(maxUploadBytes);
    async function* content() {
      for await (const chunk of file.chunks(range)) {
        restartIdleTimer();
        request.signal.throwIfAborted();
        md5.update(chunk);
        checksum?.update(chunk);
        yield chunk;
      }
    }
    const stored = await buckets.multipart.store(bucket.path, upload, content());
    const made = await finished(call, stored, () => ({
      md5: md5.digest("hex"),
      checksums: (algorithm === undefined ? {} : { [algorithm]: checksum?.digest("base64") }) as Checksums,
    }));
    await buckets.multipart.putPart(upload, { number, ...made, stored });
    return xmlAnswer(
      "CopyPartResult",
      element("ETag", `"${made.md5}"`) +
        element("LastModified", new Date(call.now()).toISOString()) +
        partChecksums(made.checksums),
    );
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

function sourceRange(header: string | null, size: number) {
  if (header === null) return undefined;
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header) ?? [];
  const [start, end] = [wholeNumber(first), wholeNumber(last)];
  if (start === undefined || end === undefined || end < start || end >= size)
    throw new S3Error("InvalidArgument", "x-amz-copy-source-range is not a range of the source");
  return { start, end };
}

function partChecksums(checksums: Checksums): string {
  return Object.entries(checksums)
    .map(([name, value]) => element(`Checksum${name.toUpperCase()}`, value))
    .join("");
}

/** listParts lists the parts of an upload by their numbers. */
export async function listParts(call: S3Call): Promise<Response> {
  const { query, bucket, buckets, key } = call;
  const upload = await requireOpen(call);
  const max = limitIn(query.get("max-parts"));
  const after = wholeNumber(query.get("part-number-marker") ?? "0") ?? 0;
  const rest = (await buckets.multipart.parts(upload)).filter(({ number }) => number > after);
  const shown = rest.slice(0, max);
  const isTruncated = rest.length > shown.length;
  const parts = shown.map(
    ({ number, size, md5, checksums, at }) =>
      `<Part>${element("PartNumber", number)}${element("LastModified", new Date(at).toISOString())}${element("ETag", `"${md5}"`)}${element("Size", size)}${partChecksums(checksums)}</Part>`,
  );
  return xmlAnswer(
    "ListPartsResult",
    element("Bucket", bucket.name) +
      element("Key", key) +
      element("UploadId", upload.name.id) +
      `<Initiator>${element("ID", upload.by)}</Initiator><Owner>${element("ID", upload.by)}</Owner>` +
      element("StorageClass", "STANDARD") +
      element("PartNumberMarker", after) +
      (isTruncated ? element("NextPartNumberMarker", shown.at(-1)?.number ?? after) : "") +
      element("MaxParts", max) +
      element("IsTruncated", isTruncated) +
      parts.join(""),
  );
}

/** listUploads lists the caller's unfinished uploads, or with the Super Token all, by key and then by age. */
export async function listUploads(call: S3Call): Promise<Response> {
  const { query, bucket, buckets, caller } = call;
  const encode = encoderIn(query.get("encoding-type"));
  const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter") ?? ""];
  const [keyMarker, idMarker] = [query.get("key-marker") ?? "", query.get("upload-id-marker") ?? ""];
  const max = limitIn(query.get("max-uploads"));
  const found = await buckets.multipart.unfinished(bucket, caller.isSuper ? undefined : caller.key);
  const sorted = found
    .filter(({ path }) => path.startsWith(prefix))
    .sort((a, b) => (a.path === b.path ? a.at - b.at : a.path < b.path ? -1 : 1));
  const marked = sorted.findIndex(({ path, name }) => path === keyMarker && name.id === idMarker);
  const rest =
    marked === -1
      ? sorted.filter(({ path }) => keyMarker === "" || path > keyMarker)
      : sorted.slice(marked + 1);
  const prefixOf = ({ path }: MultipartUpload) => {
    const at = delimiter === "" ? -1 : path.indexOf(delimiter, prefix.length);
    return at === -1 ? undefined : path.slice(0, at + delimiter.length);
  };
  const uploads = rest.filter((upload) => prefixOf(upload) === undefined);
  const prefixes = [...new Set(rest.flatMap((upload) => prefixOf(upload) ?? []))];
  const shown = uploads.slice(0, max);
  const isTruncated = uploads.length > shown.length;
  const last = shown.at(-1);
  return xmlAnswer(
    "ListMultipartUploadsResult",
    element("Bucket", bucket.name) +
      element("KeyMarker", encode(keyMarker)) +
      element("UploadIdMarker", idMarker) +
      (isTruncated && last !== undefined
        ? element("NextKeyMarker", encode(last.path)) + element("NextUploadIdMarker", last.name.id)
        : "") +
      element("Prefix", encode(prefix)) +
      (delimiter === "" ? "" : element("Delimiter", encode(delimiter))) +
      (query.has("encoding-type") ? element("EncodingType", "url") : "") +
      element("MaxUploads", max) +
      element("IsTruncated", isTruncated) +
      shown
        .map(
          ({ path, name, at, by }) =>
            `<Upload>${element("Key", encode(path))}${element("UploadId", name.id)}<Initiator>${element("ID", by)}</Initiator><Owner>${element("ID", by)}</Owner><StorageClass>STANDARD</StorageClass>${element("Initiated", new Date(at).toISOString())}</Upload>`,
        )
        .join("") +
      prefixes.map((one) => `<CommonPrefixes>${element("Prefix", encode(one))}</CommonPrefixes>`).join(""),
  );
}

/** abortUpload deletes an upload and its parts. */
export async function abortUpload(call: S3Call): Promise<Response> {
  await call.buckets.multipart.abort(await requireOpen(call));
  return new Response(null, { status: 204 });
}

/** completeUpload makes one object of the parts that the client names. */
export async function completeUpload(call: S3Call): Promise<Response> {
  const { bucket, buckets, request } = call;
  const path = filePath(call);
  const document = parseDocument(
    await readDocument(call, maxDocumentBytes, withoutChecksums(request.headers)),
    "CompleteMultipartUpload",
    maxParts * 8 + 10,
  );
  const upload = await findUpload(call);
  // The answer to an earlier request was lost.
  if (upload.outcome !== undefined) return completed(call, upload.outcome.etag);
  const wanted = wantedParts(document, await buckets.multipart.parts(upload));
  const conditions = await writeConditions(call, path);
  await call.files.examine(await call.files.reader.resolve(path), { conditions, makeParents: true });
  const grant: Grant = {
    by: conditions.grant.by,
    async assertStillValid() {
      await conditions.grant.assertStillValid();
      await buckets.multipart.assertOpen(upload);
    },
  };
  assertSize(call, wanted);
  const whole = await WholeObject.of(checksumOf(upload, request.headers), wanted);
  const finish = () => {
    const record = { ...whole.finish(), headers: upload.multipart.headers };
    assertChecksums(request.headers, record.checksums);
    return record;
  };
  let body: StagedBody;
  try {
    body = whole.needsContent
      ? await stageWith(call, path, { content: whole.read(call), finish })
      : await joinParts(call, upload, { parts: wanted, record: finish() });
  } catch (error) {
    // Another request may have put it in place, and its parts are gone.
    const known = (await findUpload(call)).outcome;
    if (known === undefined) throw error;
    return completed(call, known.etag);
  }
  await using staged = body;
  const etag = `"${etagOf(staged.record)}"`;
  const outcome = await buckets.multipart.complete(upload, {
    etag,
    put: async ({ onWritten }) =>
      writeObject(call, path, { body: staged, conditions: { ...conditions, grant }, onWritten }),
  });
  // Another request may have put other parts in place.
  return completed(call, outcome.etag, outcome.etag === etag ? staged.record : undefined);

  function completed({ key }: S3Call, madeEtag: string, content?: ContentRecord): Response {
    return xmlAnswer(
      "CompleteMultipartUploadResult",
      element("Location", objectUrl(call)) +
        element("Bucket", bucket.name) +
        element("Key", key) +
        element("ETag", madeEtag) +
        checksumElements({ content }),
    );
  }
}

/** The store makes one object of the parts, which need not be read. */
async function joinParts(
  { buckets, bucket, restartIdleTimer }: S3Call,
  upload: MultipartUpload,
  { parts, record }: { readonly parts: readonly NumberedPart[]; readonly record: ContentRecord },
): Promise<StagedBody> {
  const staged = await buckets.multipart.join(bucket.path, upload, {
    parts,
    record: () => encodeRecord(record),
    onProgress: restartIdleTimer,
  });
  return { staged, record, [Symbol.asyncDispose]: () => staged[Symbol.asyncDispose]() };
}

/** The checksums in the headers of a Complete are those of the object, not of the document. */
function withoutChecksums(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => !name.startsWith("x-amz-checksum-")));
}

/** The parts together have the size that the client names, and are no larger than one upload may be. */
function assertSize({ request, maxUploadBytes }: S3Call, parts: readonly NumberedPart[]): void {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (maxUploadBytes > 0 && size > maxUploadBytes) throw tooLarge(maxUploadBytes);
  const named = request.headers.get("x-amz-mp-object-size");
  if (named !== null && wholeNumber(named) !== size)
    throw new S3Error("InvalidRequest", `the parts have ${size} bytes together, not x-amz-mp-object-size`);
}

/** The checksum of the whole is that which the upload was begun with, else the one that the client names at the end. */
function checksumOf({ multipart: { checksum } }: MultipartUpload, headers: Headers): WantedChecksum {
  const [named] = checksumNames.filter((name) => headers.has(`x-amz-checksum-${name}`));
  if (checksum === undefined) {
    const isComposite = /-\d+$/.test(headers.get(`x-amz-checksum-${named}`) ?? "");
    return { algorithm: named, isComposite };
  }
  const algorithm = checksumNamed(checksum.algorithm);
  if (named !== undefined && named !== algorithm)
    throw new S3Error("InvalidRequest", `the checksum of this upload is ${checksum.algorithm}, not ${named}`);
  return { algorithm, isComposite: checksum.isComposite };
}

interface WantedChecksum {
  readonly algorithm: ChecksumName | undefined;
  readonly isComposite: boolean;
}

/** The parts that a client names, in their order; it must name them by the tags that it was answered. */
function wantedParts(
  document: Parameters<typeof childrenNamed>[0],
  stored: readonly NumberedPart[],
): NumberedPart[] {
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  let last = 0;
  const wanted = childrenNamed(document, "Part").map((part) => {
    const number = wholeNumber(childText(part, "PartNumber") ?? "") ?? 0;
    const etag = (childText(part, "ETag") ?? "").replaceAll('"', "").trim();
    if (number <= last)
      throw new S3Error("InvalidPartOrder", "the parts must be in the order of their numbers");
    last = number;
    const found = byNumber.get(number);
    if (found === undefined || found.md5 !== etag)
      throw new S3Error("InvalidPart", `part ${number} was not uploaded, or has another ETag`);
    for (const name of checksumNames) {
      const given = childText(part, `Checksum${name.toUpperCase()}`);
      if (given !== undefined && given.trim() !== found.checksums[name])
        throw new S3Error("InvalidPart", `part ${number} was uploaded without this ${name} checksum`);
    }
    return found;
  });
  if (wanted.length === 0) throw new S3Error("MalformedXML", "the document names no parts");
  return wanted;
}

/** A client may name the checksum of the whole. */
function assertChecksums(headers: Headers, checksums: Checksums): void {
  for (const name of checksumNames) {
    const value = checksums[name];
    const given = headers.get(`x-amz-checksum-${name}`);
    if (given !== null && given !== value && given !== value?.replace(/-\d+$/, ""))
      throw new S3Error("BadDigest", `the parts together do not match x-amz-checksum-${name}`);
  }
}

/** WholeObject reads parts one after the other, and computes what S3 says of the whole. */
class WholeObject {
  readonly isComposite: boolean;
  readonly #parts: readonly NumberedPart[];
  readonly #algorithm: ChecksumName | undefined;
  /** The checksum of the parts one after the other, as far as their own tell it. */
  readonly #combined: string | undefined;
  readonly #hasher: ReturnType<typeof openChecksum> | undefined;

  private constructor(
    { algorithm, isComposite }: WantedChecksum,
    parts: readonly NumberedPart[],
    ofParts: string | undefined,
  ) {
    this.#parts = parts;
    this.#algorithm = algorithm;
    this.isComposite = isComposite;
    this.#combined = ofParts;
    if (algorithm !== undefined && !isComposite && ofParts === undefined)
      this.#hasher = openChecksum(algorithm);
  }

  static async of(checksum: WantedChecksum, parts: readonly NumberedPart[]): Promise<WholeObject> {
    const { algorithm, isComposite } = checksum;
    if (algorithm === undefined || isComposite) return new WholeObject(checksum, parts, undefined);
    const known = parts.flatMap(({ size, checksums }) => {
      const value = checksums[algorithm];
      return value === undefined ? [] : [{ value, size }];
    });
    const ofParts = known.length === parts.length ? await combined(algorithm, known) : undefined;
    return new WholeObject(checksum, parts, ofParts);
  }

  /** Whether the parts must be read to know their checksum. */
  get needsContent(): boolean {
    return this.#hasher !== undefined;
  }

  async *read({ buckets, restartIdleTimer }: S3Call): AsyncGenerator<Uint8Array> {
    for await (const chunk of buckets.multipart.contentOf(this.#parts)) {
      restartIdleTimer();
      this.#hasher?.update(chunk);
      yield chunk;
    }
  }

  finish(): ContentRecord & { readonly checksums: Checksums } {
    const all = Buffer.concat(this.#parts.map(({ md5 }) => Buffer.from(md5, "hex")));
    const md5 = Bun.CryptoHasher.hash("md5", all, "hex");
    const parts = this.#parts.map(({ size }) => size);
    const value =
      this.#algorithm &&
      (this.#combined ?? this.#hasher?.digest("base64") ?? this.#compositeOf(this.#algorithm));
    if (this.#algorithm === undefined || value === undefined) return { md5, parts, checksums: {} };
    return { md5, parts, checksums: { [this.#algorithm]: value }, composite: this.isComposite };
  }

  /** The checksum of the checksums of the parts; undefined if one has none. */
  #compositeOf(algorithm: ChecksumName): string | undefined {
    const hasher = openChecksum(algorithm);
    for (const { checksums } of this.#parts) {
      const value = checksums[algorithm];
      if (value === undefined) return undefined;
      hasher.update(Buffer.from(value, "base64"));
    }
    return `${hasher.digest("base64")}-${this.#parts.length}`;
  }
}
