import { authorise, inBucket, mayActFor } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { wholeNumber } from "../base/numbers.ts";
import { parseDeployTarget } from "../buckets/history/deploy-record.ts";
import { noUpload, tooManyBytes } from "../buckets/history/faults.ts";
import type { NewUpload, Upload, UploadProgress, Uploads } from "../buckets/history/uploads.ts";
import { childPath, pathSegment, type TreePath, treePath } from "../buckets/path.ts";
import { errorReason } from "./content/plain.ts";
import type { PipelineDeps, ReceivedRequest } from "./pipeline.ts";
import { bodyChunks, declaredLength } from "./request/body.ts";
import { HttpError } from "./request/http-error.ts";
import { type DavRequest, hrefOf, modifiedOf, writeConditions } from "./webdav/dav-request.ts";
import { fileProtocol } from "./webdav/handler.ts";
import type { Verb } from "./webdav/verbs/index.ts";

/** tusVersion is the version of the protocol: https://tus.io/protocols/resumable-upload. */
const tusVersion = "1.0.0";
const contentType = "application/offset+octet-stream";
const maxMetadataChars = 4096;
/** Conditions of the request that begins an upload hold when the file is put in place. `If` is that of each request: it names locks. */
const storedConditions = ["if-match", "if-none-match", "if-unmodified-since"] as const;

export const uploadPrefix = "/node/static-upload";
const allow = ["OPTIONS", "POST", "HEAD", "PATCH", "DELETE", "GET"].join(", ");
const exposed =
  "ETag, Last-Modified, Location, Retry-After, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset, Upload-Put-Status, X-Error-Reason";
const accepted =
  "Authorization, Content-Type, If, If-Match, If-None-Match, If-Unmodified-Since, Repr-Digest, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-OC-Mtime, X-Requested-With";

const headers = {
  "tus-resumable": tusVersion,
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed,
  "cache-control": "no-store",
};

/** The status of each reason of a Fault of uploads. */
const statuses: Readonly<Record<string, number>> = {
  no_upload: 404,
  upload_busy: 409,
  upload_offset: 409,
  upload_length: 400,
  too_many_uploads: 429,
  digest_mismatch: 400,
};

const uploadVerb = (serve: (dav: DavRequest) => Promise<Response>): Verb => ({
  async serve(dav) {
    requireReadForConditions(dav);
    return serve({ ...dav, makesParents: true }).catch(withReason);
  },
});

/** Conditions about the content or the time of a file tell what it is, so they take the permission to read it. */
function requireReadForConditions({ request: { headers }, caller, bucket }: DavRequest): void {
  const isAsking =
    (headers.get("if-none-match") ?? "*") !== "*" ||
    ["if", "if-match", "if-unmodified-since"].some((name) => headers.has(name));
  const { bucket: name } = parseDeployTarget(bucket.name);
  if (isAsking) authorise(caller, inBucket(name, "static_bucket_file.read"));
}

const verbs: Readonly<Record<string, Verb>> = {
  POST: uploadVerb(create),
  HEAD: uploadVerb(status),
  PATCH: uploadVerb(append),
  DELETE: uploadVerb(cancel),
  GET: uploadVerb(list),
};

/**
 * resumableUploads is tus 1.0.0 with the extensions creation, creation-with-upload, expiration and termination, on the addresses
 * of files. It takes the permission to write alone, and shows nothing of the bucket. A file is put in place by the rules of PUT; folders
 * above it that are missing are made, because tus has no MKCOL.
 */
export const resumableUploads = fileProtocol({
  name: "upload",
  prefix: uploadPrefix,
  permissions: ["static_bucket_file.write"],
  headers,
  options,
  verbs,
  methodOf,
});

/** Some networks let only GET and POST through, for which tus has this header. */
function methodOf({ method, headers: given }: Request): string {
  const override = method === "POST" ? given.get("x-http-method-override") : null;
  return override !== null && Object.hasOwn(verbs, override) ? override : method;
}

function options({ maxUploadBytes }: PipelineDeps): Response {
  const max = maxUploadBytes();
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      allow,
      "tus-version": tusVersion,
      "tus-extension": "creation,creation-with-upload,expiration,termination",
      ...(max > 0 && { "tus-max-size": String(max) }),
      "access-control-allow-methods": allow,
      "access-control-allow-headers": accepted,
      "access-control-max-age": "86400",
    },
  });
}

/** Begins an upload. A body, if there is one, is its beginning. */
async function create(dav: DavRequest): Promise<Response> {
  const { request, bucket, caller } = dav;
  const uploads = uploadsOf(dav);
  requireVersion(request);
  const wanted = newUploadOf(dav);
  const at: DavRequest = { ...dav, path: wanted.path, slash: false };
  await examine(at, wanted);
  await requireSpace(at, wanted.length);
  const hasBody = request.headers.has("content-type");
  if (hasBody) requireBody(at, wanted, 0);
  const upload = await uploads.begin(bucket, { ...wanted, by: caller.key });
  const answer = (received: UploadProgress) =>
    new Response(null, {
      status: 201,
      headers: { location: addressOf(dav, upload), ...headersOf(upload), ...stateOf(received) },
    });
  if (upload.length === 0) return answer(await receiveEmpty(at, upload));
  return answer(hasBody ? await receive(at, upload, 0) : { offset: 0, outcome: undefined });
}

/** An upload without bytes is finished at once, or it was never begun: its offset would say that it is complete. */
async function receiveEmpty(dav: DavRequest, upload: Upload): Promise<UploadProgress> {
  try {
    return await receive(dav, upload, 0);
  } catch (error) {
    await uploadsOf(dav).cancel(upload);
    throw error;
  }
}

/** Tells the offset. */
async function status(dav: DavRequest): Promise<Response> {
  requireVersion(dav.request);
  const { name } = await find(dav);
  await uploadsOf(dav).interrupt(name.id);
  const upload = await find(dav);
  const metadata = upload.metadata === undefined ? {} : { "upload-metadata": upload.metadata };
  return new Response(null, {
    headers: {
      "upload-length": String(upload.length),
      ...metadata,
      ...headersOf(upload),
      ...stateOf({ offset: upload.offset, outcome: upload.outcome }),
    },
  });
}

async function append(dav: DavRequest): Promise<Response> {
  const { request } = dav;
  requireVersion(request);
  const upload = await find(dav);
  const from = integerIn(request, "upload-offset");
  requireBody(dav, upload, from);
  if (upload.outcome === undefined) await examine(dav, upload);
  const received = await receive(dav, upload, from);
  return new Response(null, { status: 204, headers: { ...headersOf(upload), ...stateOf(received) } });
}

async function cancel(dav: DavRequest): Promise<Response> {
  requireVersion(dav.request);
  await uploadsOf(dav).cancel(await find(dav));
  return new Response(null, { status: 204 });
}

/** Lists unfinished uploads at a path and below it: the caller's own, or with the Super Token all. */
async function list(dav: DavRequest): Promise<Response> {
  const { bucket, path, caller } = dav;
  const found = await uploadsOf(dav).unfinished(bucket, {
    path,
    by: caller.isSuper ? undefined : caller.key,
  });
  return Response.json({
    uploads: found.map((upload) => ({
      address: addressOf(dav, upload),
      path: upload.path,
      length: upload.length,
      offset: upload.offset,
      modified: upload.modified ?? null,
      sha256: upload.sha256 ?? null,
      token_key: upload.by,
      begun_at: upload.at,
      expires_at: upload.expires,
    })),
  });
}

/** The resumable uploads of all buckets. */
function uploadsOf({ received }: DavRequest): Uploads {
  return received.services.buckets.uploads;
}

/** The upload that the address names, if the caller may use it. To everybody else it does not exist. */
async function find(dav: DavRequest): Promise<Upload> {
  const { request, bucket, path, caller } = dav;
  const [, id] = /\?(?:.*&)?upload=([A-Za-z0-9]+)(?:&|$)/.exec(request.url) ?? [];
  if (id === undefined) throw new HttpError(400, "this is not the address of an upload; POST creates one");
  const upload = await uploadsOf(dav).find(bucket, path, id);
  if (!mayActFor(caller, upload.by)) throw noUpload();
  return upload;
}

/** Throws what would forbid the file now, before its bytes are sent. */
async function examine(dav: DavRequest, upload: Pick<Upload, "conditions">): Promise<void> {
  const { files, path, request } = dav;
  const conditions = writeConditions(dav, conditionsOf(upload, request));
  await files.examine(await files.reader.resolve(path), { conditions, makeParents: true });
}

/** Refuses a file that the disk cannot hold. Others may fill it meanwhile, so this is not the last word. */
async function requireSpace({ files, path }: DavRequest, length: number): Promise<void> {
  const { availableBytes } = (await files.reader.diskUsage()) ?? {};
  if (availableBytes !== undefined && length > availableBytes)
    throw new Fault("IoError", "the disk has not enough space for this file; nothing was changed", {
      path,
      reason: "disk_full",
    });
}

function requireBody({ request }: DavRequest, { length }: Pick<Upload, "length">, from: number): void {
  requireType(request);
  if (from + (declaredLength(request) ?? 0) > length) throw tooManyBytes(length);
}

async function receive(dav: DavRequest, upload: Upload, from: number): Promise<UploadProgress> {
  const { received, request, bucket, files, path, audit, makesParents } = dav;
  return uploadsOf(dav).receive(bucket.path, upload, {
    from,
    content: arriving(received),
    onProgress: () => received.restartIdleTimer(),
    async put(staged, options) {
      const conditions = writeConditions(dav, conditionsOf(upload, request));
      const modified = upload.modified === undefined ? undefined : new Date(upload.modified);
      const written = await files.write(path, staged, {
        ...options,
        conditions,
        makeParents: makesParents,
        modified,
      });
      audit("file.written", { bucket: bucket.name, path, bytes: written.stats.size });
      return written;
    },
  });
}

async function* arriving(received: ReceivedRequest<unknown>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bodyChunks(received.request)) {
    received.restartIdleTimer();
    yield chunk;
  }
}

function addressOf({ bucket }: DavRequest, { path, name }: Upload): string {
  return `${hrefOf(bucket.name, treePath(path), "file", uploadPrefix)}?upload=${name.id}`;
}

function headersOf({ expires }: Upload): Record<string, string> {
  return { "upload-expires": new Date(expires).toUTCString() };
}

/** The offset, and once the file is in place what PUT would have answered. */
function stateOf({ offset, outcome }: UploadProgress): Record<string, string> {
  return {
    "upload-offset": String(offset),
    ...(outcome && {
      etag: outcome.etag,
      "last-modified": new Date(outcome.modified).toUTCString(),
      "upload-put-status": outcome.created ? "201" : "204",
    }),
  };
}

function withReason(error: unknown): never {
  const { reason, offset } = error instanceof Fault ? error.data : {};
  const code = statuses[String(reason)];
  if (!(error instanceof Fault) || code === undefined) throw error;
  throw new HttpError(code, error.detail, {
    headers: {
      ...errorReason(reason),
      ...(offset !== undefined && { "upload-offset": String(offset) }),
      ...(reason === "upload_busy" && { "retry-after": "1" }),
    },
  });
}

/** requireVersion throws 412 for a client that speaks another version of the protocol. */
function requireVersion({ headers }: Request): void {
  if (headers.get("tus-resumable") === tusVersion) return;
  throw new HttpError(412, `this address accepts tus uploads; send Tus-Resumable: ${tusVersion}`, {
    headers: { "tus-version": tusVersion, "x-error-reason": "tus_version" },
  });
}

/** requireType throws 415 for a body that is not a piece of an upload. */
function requireType({ headers }: Request): void {
  if (headers.get("content-type") !== contentType)
    throw new HttpError(415, `send the bytes with Content-Type: ${contentType}`);
  if ((headers.get("content-encoding")?.trim().toLowerCase() ?? "identity") !== "identity")
    throw new HttpError(415, "send the file as it is, without a content encoding");
}

/** integerIn reads a header that must be a number of bytes. */
function integerIn({ headers }: Request, name: string): number {
  const text = headers.get(name);
  if (text === null) throw new HttpError(400, `${name} is missing`);
  const value = wholeNumber(text);
  if (value === undefined || value === Number.MAX_SAFE_INTEGER)
    throw new HttpError(400, `${name} is not a number of bytes`);
  return value;
}

/** newUploadOf reads what the request that begins an upload says about it. */
function newUploadOf(dav: DavRequest): NewUpload {
  const { request, received, caller } = dav;
  const maxUploadBytes = received.deps.maxUploadBytes();
  if (request.headers.has("upload-defer-length") || request.headers.has("upload-concat"))
    throw new HttpError(
      400,
      "declare the length when you create the upload, and send the file as one upload",
    );
  const length = integerIn(request, "upload-length");
  if (maxUploadBytes > 0 && length > maxUploadBytes)
    throw new HttpError(413, `the upload exceeds ${maxUploadBytes} bytes (max_upload_size)`);
  const modified = modifiedOf(dav)?.getTime();
  const sha256 = digestIn(request);
  const metadata = metadataIn(request);
  return {
    path: pathOf(dav, metadata),
    by: caller.key,
    length,
    conditions: Object.fromEntries(
      storedConditions.flatMap((name) => {
        const value = request.headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
    ...(modified !== undefined && { modified }),
    ...(sha256 !== undefined && { sha256 }),
    ...(metadata !== undefined && { metadata }),
  };
}

/**
 * conditionsOf returns the conditions of an upload in the form of headers: those that it was begun with, and the `If` of this
 * request.
 */
function conditionsOf({ conditions }: Pick<Upload, "conditions">, { headers }: Request): Headers {
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
    throw new HttpError(400, `Upload-Metadata exceeds ${maxMetadataChars} characters`);
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
