// This folder is S3 on the files of buckets: a key is a path. The protocol of this file finds the caller by the
// signature (signature.ts) and the operation in one table, checks the need, opens the bucket and runs the operation
// with an S3Call (s3-call.ts). objects.ts has those on objects, list.ts lists keys, multipart.ts takes uploads in parts.
// chunked-body.ts reads the bodies of SDKs, posted-form.ts those of browsers, checksums.ts verifies them. object-record.ts
// is what S3 knows of a file beside its content, which the store keeps with it. errors.ts turns faults into codes of S3,
// xml.ts reads and writes documents.

import { anonymous, type Caller, whoFields } from "../../auth/caller.ts";
import { authorise, inBucket, isAuthorised, type Need } from "../../auth/need.ts";
import type { Permission } from "../../auth/permission.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import type { Buckets } from "../../buckets/buckets.ts";
import { type TreePath, treeRoot } from "../../buckets/path.ts";
import { isBucketName } from "../../buckets/record.ts";
import { inSpan } from "../../log/span.ts";
import type { Services } from "../../services.ts";
import { isSiteFile } from "../../sites/site-rules.ts";
import {
  type ArrivedRequest,
  openBucket,
  type PipelineDeps,
  type Protocol,
  type ReceivedRequest,
} from "../pipeline.ts";
import { holdBack } from "../request/authentication.ts";
import { hostNameOf, type S3Settings } from "../request/host-name.ts";
import { noteOn } from "../request/request-observer.ts";
import { errorResponse, S3Error, toS3Error } from "./errors.ts";
import { keys, listObjects } from "./list.ts";
import {
  abortUpload,
  completeUpload,
  copyPart,
  createUpload,
  listParts,
  listUploads,
  uploadPart,
} from "./multipart.ts";
import { readObject } from "./object-record.ts";
import {
  checksumModeHeader,
  checksumsWanted,
  copyObject,
  deleteObject,
  deleteObjects,
  getAttributes,
  getObject,
  memoryKey,
  postObject,
  putObject,
} from "./objects.ts";
import { isForm, type PostedForm, readForm } from "./posted-form.ts";
import { readDocument, type S3Call } from "./s3-call.ts";
import { decoded, parseQuery, type Query, Signature } from "./signature.ts";
import { element, xmlAnswer } from "./xml.ts";

const region = "us-east-1";
const maxDocumentBytes = 64 * 1024;

/** ServiceCall is a request that names no bucket. */
interface ServiceCall {
  readonly caller: Caller;
  readonly services: Services;
}

interface BucketCall extends ServiceCall {
  readonly request: Request;
  readonly signature: Signature | undefined;
  readonly name: string;
  readonly audit: S3Call["audit"];
}

/** Operation is a row of the table. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly on: "service" | "bucket" | "object";
  /** The parameter, and the header, that tell it from others with the same method. */
  readonly query?: string;
  readonly header?: string;
  /** What it needs in the bucket: all of these permissions. */
  readonly needs?: readonly Permission[];
  /** Whether it also works without a signature, where that is allowed, on a public bucket. */
  readonly isOpen?: true;
  /** One of these: on objects of a bucket, on a bucket that may not exist, or above all buckets. Without one it is not implemented. */
  readonly run?: (call: S3Call) => Promise<Response>;
  readonly runBefore?: (call: BucketCall) => Promise<Response>;
  readonly runAbove?: (call: ServiceCall) => Promise<Response>;
}

const read = "static_bucket_file.read";
const list = "static_bucket_file.list";
const write = "static_bucket_file.write";
const remove = "static_bucket_file.delete";

/** Every operation that the server has. The first row that fits a request is its operation. */
export const operations: readonly Operation[] = [
  { name: "ListBuckets", method: "GET", on: "service", runAbove: listBuckets },
  {
    name: "CreateBucket",
    method: "PUT",
    on: "bucket",
    needs: ["static_bucket.write"],
    runBefore: createBucket,
  },
  {
    name: "DeleteBucket",
    method: "DELETE",
    on: "bucket",
    needs: ["static_bucket.delete", list],
    run: deleteBucket,
  },
  { name: "HeadBucket", method: "HEAD", on: "bucket", needs: [list], run: headBucket },
  { name: "GetBucketLocation", method: "GET", on: "bucket", query: "location", needs: [list], run: location },
  {
    name: "GetBucketVersioning",
    method: "GET",
    on: "bucket",
    query: "versioning",
    needs: [list],
    run: versioning,
  },
  {
    name: "ListMultipartUploads",
    method: "GET",
    on: "bucket",
    query: "uploads",
    needs: [list],
    run: listUploads,
  },
  {
    name: "DeleteObjects",
    method: "POST",
    on: "bucket",
    query: "delete",
    needs: [remove],
    run: deleteObjects,
  },
  { name: "PostObject", method: "POST", on: "bucket", needs: [write], run: postObject },
  { name: "ListObjects", method: "GET", on: "bucket", needs: [list], run: listObjects },
  {
    name: "GetObjectAttributes",
    method: "GET",
    on: "object",
    query: "attributes",
    needs: [read],
    run: getAttributes,
  },
  { name: "ListParts", method: "GET", on: "object", query: "uploadId", needs: [write], run: listParts },
  { name: "GetObject", method: "GET", on: "object", needs: [read], isOpen: true, run: getObject },
  { name: "HeadObject", method: "HEAD", on: "object", needs: [read], isOpen: true, run: getObject },
  {
    name: "UploadPartCopy",
    method: "PUT",
    on: "object",
    query: "uploadId",
    header: "x-amz-copy-source",
    needs: [write],
    run: copyPart,
  },
  { name: "UploadPart", method: "PUT", on: "object", query: "uploadId", needs: [write], run: uploadPart },
  {
    name: "CopyObject",
    method: "PUT",
    on: "object",
    header: "x-amz-copy-source",
    needs: [write],
    run: copyObject,
  },
  { name: "PutObject", method: "PUT", on: "object", needs: [write], run: putObject },
  {
    name: "CreateMultipartUpload",
    method: "POST",
    on: "object",
    query: "uploads",
    needs: [write],
    run: createUpload,
  },
  {
    name: "CompleteMultipartUpload",
    method: "POST",
    on: "object",
    query: "uploadId",
    needs: [write],
    run: completeUpload,
  },
  {
    name: "AbortMultipartUpload",
    method: "DELETE",
    on: "object",
    query: "uploadId",
    needs: [write],
    run: abortUpload,
  },
  { name: "DeleteObject", method: "DELETE", on: "object", needs: [remove], run: deleteObject },
];

/** Parameters of operations that the server does not have: with them, a request means something else than without. */
export const unknownParameters = [
  ...[
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
  ],
  ...["lifecycle", "logging", "metrics", "notification", "object-lock", "ownershipControls"],
  ...["policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment", "restore", "retention"],
  ...["select", "tagging", "torrent", "uploadId", "uploads", "versions", "website", "append"],
];

/** Headers that ask for what the server does not do, unless they have one of these values. */
const unknownHeaders = Object.entries<readonly string[]>({
  "x-amz-acl": ["private", "bucket-owner-full-control"],
  "x-amz-storage-class": ["STANDARD"],
  "x-amz-tagging": [""],
  "x-amz-website-redirect-location": [],
  "x-amz-server-side-encryption": [],
  "x-amz-server-side-encryption-customer-algorithm": [],
  "x-amz-object-lock-mode": [],
  "x-amz-object-lock-retain-until-date": [],
  "x-amz-object-lock-legal-hold": ["OFF"],
  "x-amz-bucket-object-lock-enabled": ["false"],
  "x-amz-write-offset-bytes": [],
  "x-amz-grant-full-control": [],
  "x-amz-grant-read": [],
  "x-amz-grant-read-acp": [],
  "x-amz-grant-write": [],
  "x-amz-grant-write-acp": [],
});

/** Target is what an address names. */
interface Target {
  readonly bucket: string;
  readonly key: string;
  /** The address of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
}

/** S3Who is who sends a request, and what it asks for. */
interface S3Who {
  readonly caller: Caller;
  /** Undefined for a request without one. */
  readonly signature: Signature | undefined;
  readonly form: PostedForm | undefined;
  readonly query: Query;
  readonly operation: Operation;
  readonly target: Target;
}

/** s3 is S3 on the files of buckets. */
export const s3: Protocol<S3Who, Target> = {
  name: "s3",
  takesBodies: true,
  options: preflight,
  answerAtOnce,
  who,
  answer,
  toResponse(error, { request, path }) {
    const known = toS3Error(error);
    if (known === undefined) throw error;
    return errorResponse(known, { method: request.method, resource: path, requestId: newRequestId() });
  },
  finish(response, request) {
    if (hasSignature(request) || isForm(request)) allowOrigins(response);
    const { headers } = response;
    if (!headers.has("x-amz-request-id")) headers.set("x-amz-request-id", newRequestId());
  },
  logged: (target) => ({ bucket: target?.bucket, path: target?.key }),
};

/** Every process has random ones, which are counted on. */
const idOfProcess = Buffer.from(crypto.getRandomValues(new Uint8Array(4)))
  .toString("hex")
  .toUpperCase();
let lastRequest = 0;

function newRequestId(): string {
  lastRequest = (lastRequest + 1) % 2 ** 32;
  return idOfProcess + lastRequest.toString(16).toUpperCase().padStart(8, "0");
}

/** Pages of every origin may send requests that are signed: no browser adds a signature by itself. */
const cors = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "*",
};

function allowOrigins({ headers }: Response): void {
  for (const [name, value] of Object.entries(cors)) headers.set(name, value);
}

function hasSignature({ headers, url }: Request): boolean {
  return headers.has("authorization") || /^[^?]*\?(?:.*&)?X-Amz-Signature=/.test(url);
}

function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...cors,
      "access-control-allow-methods": "GET, HEAD, PUT, POST, DELETE",
      "access-control-allow-headers": "*, Authorization",
      "access-control-max-age": "86400",
      allow: "OPTIONS, GET, HEAD, PUT, POST, DELETE",
    },
  });
}

/** Headers with which an answer may be another one than that in memory. */
const specialHeaders = new Set([
  ...["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"],
  ...["content-length", "transfer-encoding"],
]);
/** Headers of S3 with which the answer is the same. */
const usualHeaders = new Set(["x-amz-content-sha256", "x-amz-date", checksumModeHeader]);

const proven = Symbol("proven");

/** A request whose signature was found to be right in this turn. */
interface ProvenRequest extends Request {
  [proven]?: { readonly signature: Signature; readonly caller: Caller };
}

/**
 * Answers a signed GET or HEAD of a file in memory. It checks what `who` and `answer` check, by what was read of the database in this
 * tick; whatever is not as usual is left to them.
 */
function answerAtOnce({ request, path }: ArrivedRequest, deps: PipelineDeps): Response | undefined {
  const { method, headers, url } = request;
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (!headers.has("authorization") || !headers.has("host") || url.includes("?")) return undefined;
  for (const name of headers.keys())
    if (specialHeaders.has(name) || (name.startsWith("x-amz-") && !usualHeaders.has(name))) return undefined;
  const lease = deps.acquire();
  try {
    const { authenticator, services } = lease;
    if (services.hub.logger("server").wants("DEBUG")) return undefined;
    const signature = Signature.read({ request, rawPath: path, rawQuery: "" }, deps.clock.now());
    const caller = signature && authenticator.authenticateSignedSync(signature);
    if (signature === undefined || caller === undefined) return undefined;
    (request as ProvenRequest)[proven] = { signature, caller };
    const target = targetOf(request, path, deps.s3());
    authorise(caller, inBucket(target.bucket, read));
    const bucket = services.buckets.getSync(target.bucket);
    if (bucket?.enable !== true) return undefined;
    const { cache } = deps.static;
    const known = cache.get(memoryKey(bucket.name, target.key, checksumsWanted(request)));
    const response = cache.answer(request, known, { bucket, inTick: true });
    if (response === undefined) return undefined;
    noteOn(request, { caller });
    allowOrigins(response);
    response.headers.set("x-amz-request-id", newRequestId());
    return response;
  } catch (error) {
    // The whole way refuses it, with all that belongs to a refusal.
    if (toS3Error(error) === undefined) throw error;
    return undefined;
  } finally {
    lease.release();
  }
}

/** Authenticates first: a stranger learns nothing, not even whether a bucket exists. */
async function who(received: ReceivedRequest<Target>): Promise<S3Who> {
  const { request, path: rawPath, deps, address, authenticator } = received;
  const settings = deps.s3();
  // HTTP/1.0 allows that, but then the request has no address, which links and answers are made of.
  if (!request.headers.get("host")) throw new S3Error("InvalidRequest", "the header Host is missing");
  const question = request.url.indexOf("?");
  const rawQuery = question === -1 ? "" : request.url.slice(question + 1);
  const now = deps.clock.now();
  const known = (request as ProvenRequest)[proven];
  const inRequest = known?.signature ?? Signature.read({ request, rawPath, rawQuery }, now);
  const addressed = targetOf(request, rawPath, settings);
  const query = parseQuery(rawQuery);
  // A policy allows one upload: no other operation is proved by it.
  const isUpload = () => isForm(request) && operationOf(request, addressed, query).run === postObject;
  const form = inRequest === undefined && isUpload() ? await readForm(request) : undefined;
  const signature = form?.fields.has("policy") ? Signature.ofPolicy(form.fields, now) : inRequest;
  const caller =
    known?.caller ??
    (signature === undefined
      ? anonymous
      : await authenticator.authenticateSigned(signature, { address }).catch(async (error: unknown) => {
          await holdBack(error, deps.delays);
          throw error;
        }));
  if (signature !== undefined) received.proved(caller);
  const operation = operationOf(request, addressed, query);
  const target = form === undefined ? addressed : { ...addressed, key: form.fields.get("key") ?? "" };
  received.target = target;
  if (signature === undefined && !(settings.anonymous && operation.isOpen)) throw unsigned();
  if (signature !== undefined && operation.on !== "service")
    authorise(caller, needOf(operation, target.bucket));
  return { caller, signature, form, query, operation, target };
}

function needOf({ needs = [] }: Operation, bucket: string): Need {
  return inBucket(bucket, ...needs);
}

async function answer(
  received: ReceivedRequest<Target>,
  { caller, signature, form, query, operation, target }: S3Who,
): Promise<Response> {
  const { request, services, deps } = received;
  const { bucket: name, key } = target;
  assertImplemented(form ?? request, query, operation);
  if (operation.runAbove !== undefined) return operation.runAbove({ caller, services });
  const change = { caller, services, request, signature, name, audit: received.auditOf(caller) };
  if (operation.runBefore !== undefined) return operation.runBefore(change);
  const { run, needs = [] } = operation;
  if (run === undefined) throw notImplemented(operation.name);
  const { buckets } = services;
  const opened =
    signature === undefined
      ? await openPublic(buckets, name)
      : await openBucket(received, caller, { name, permissions: needs });
  if (signature === undefined) await requireUnlocked(opened.files, key);
  const call: S3Call = {
    ...change,
    form,
    query,
    bucket: opened.bucket,
    files: opened.files,
    grant: opened.grant,
    buckets,
    cache: deps.static.cache,
    key,
    bucketUrl: target.bucketUrl,
    maxUploadBytes: deps.maxUploadBytes(),
    restartIdleTimer: () => received.restartIdleTimer(),
    now: () => deps.clock.now(),
    async openToRead(other) {
      authorise(caller, inBucket(other, read));
      const source = await buckets.get(other);
      if (source?.enable !== true) throw noSuchBucket();
      return buckets.filesOf(source);
    },
  };
  const response = await inSpan(
    `s3::${operation.name}`,
    { ...whoFields(caller), bucket: name, path: key },
    () => run(call),
  );
  // As over plain HTTP: pages of other origins read a public bucket only if its record says so.
  if (signature === undefined && opened.bucket.cors) response.headers.set("access-control-allow-origin", "*");
  return response;
}

/** A bucket that a request without a signature may read. Others are as if they did not exist. */
async function openPublic(
  buckets: Buckets,
  name: string,
): Promise<Pick<S3Call, "bucket" | "files" | "grant">> {
  const bucket = await buckets.get(name);
  if (bucket === undefined || !bucket.enable || !bucket.public) throw unsigned();
  const grant = { assertStillValid: () => Promise.reject(unsigned()) };
  return { bucket, files: buckets.filesOf(bucket), grant };
}

/** As over plain HTTP: the files with rules are not for strangers, nor are files for which `_headers` asks for a password. */
async function requireUnlocked({ site }: BucketFiles, key: string): Promise<void> {
  if (key === "") return;
  const { rules } = await site.rules();
  if (isSiteFile(key) || rules.headers.isLocked(key)) throw unsigned();
}

/** The bucket is the first part of the path, or of the host name. */
function targetOf(request: Request, rawPath: string, { host }: S3Settings): Target {
  const name = hostNameOf(request);
  const origin = `${request.url.slice(0, request.url.indexOf(":"))}://${request.headers.get("host") ?? ""}`;
  if (host !== undefined && name.endsWith(`.${host}`))
    return { bucket: name.slice(0, -host.length - 1), key: decoded(rawPath.slice(1)), bucketUrl: origin };
  const slash = rawPath.indexOf("/", 1);
  if (/%00/.test(rawPath)) throw new S3Error("InvalidURI", "the address contains a NUL character");
  const bucket = decoded(slash === -1 ? rawPath.slice(1) : rawPath.slice(1, slash));
  const key = slash === -1 ? "" : decoded(rawPath.slice(slash + 1));
  if (bucket === "" && key !== "")
    throw new S3Error("InvalidBucketName", "the address names no bucket before the key");
  return { bucket, key, bucketUrl: `${origin}/${bucket}` };
}

function operationOf({ method, headers }: Request, { bucket, key }: Target, query: Query): Operation {
  const on = bucket === "" ? "service" : key === "" ? "bucket" : "object";
  const found = operations.find(
    (row) =>
      row.method === method &&
      row.on === on &&
      (row.query === undefined || query.has(row.query)) &&
      (row.header === undefined || headers.has(row.header)),
  );
  if (found !== undefined) return found;
  throw new S3Error("MethodNotAllowed", `${method} is not an operation on a ${on}`);
}

/** A parameter or header that the server does not know could mean anything: to ignore it would be to do something else. */
function assertImplemented(
  { headers }: { readonly headers: Pick<Headers, "get"> },
  query: Query,
  operation: Operation,
): void {
  if (query.size > 0)
    for (const name of unknownParameters)
      if (query.has(name) && operation.query !== name) throw notImplemented(`the parameter ${name}`);
  const version = query.get("versionId");
  if (version !== undefined && version !== "null") throw notImplemented("the parameter versionId");
  for (const [name, values] of unknownHeaders) {
    const value = headers.get(name);
    if (value !== null && !values.includes(value)) throw notImplemented(`${name}: ${value.slice(0, 100)}`);
  }
}

function notImplemented(what: string): S3Error {
  return new S3Error("NotImplemented", `this server does not have ${what}`);
}

function unsigned(): S3Error {
  return new S3Error(
    "AccessDenied",
    "the request needs a signature; `node-server tokens s3` shows the access key and the secret key of a token",
  );
}

function noSuchBucket(): S3Error {
  return new S3Error("NoSuchBucket", "there is no such bucket");
}

/** The buckets in which the caller may do anything with files. */
async function listBuckets({ caller, services: { buckets } }: ServiceCall): Promise<Response> {
  const needs = (name: string): Need[] =>
    [read, list, write, remove].map((one) => inBucket(name, one as Permission));
  const shown: string[] = [];
  for (const bucket of await buckets.all()) {
    if (!bucket.enable || !needs(bucket.name).some((need) => isAuthorised(caller, need))) continue;
    const root = await buckets.filesOf(bucket).reader.find(treeRoot);
    const created = new Date(root?.stats.createdMs ?? 0).toISOString();
    shown.push(`<Bucket>${element("Name", bucket.name)}${element("CreationDate", created)}</Bucket>`);
  }
  const owner = `<Owner>${element("ID", caller.key)}</Owner>`;
  return xmlAnswer("ListAllMyBucketsResult", `${owner}<Buckets>${shown.join("")}</Buckets>`);
}

async function headBucket(): Promise<Response> {
  return new Response(null, { headers: { "x-amz-bucket-region": region } });
}

/** The region `us-east-1` has no name here. */
async function location(): Promise<Response> {
  return xmlAnswer("LocationConstraint", "");
}

/** Versions of files are kept by the server's own rules, which are not those of S3. */
async function versioning(): Promise<Response> {
  return xmlAnswer("VersioningConfiguration", "");
}

/** A bucket of S3 is private; so it can be read with a token alone. */
async function createBucket({
  request,
  signature,
  caller,
  name,
  services: { buckets },
  audit,
}: BucketCall): Promise<Response> {
  await readDocument({ request, signature }, maxDocumentBytes);
  if (!isBucketName(name))
    throw new S3Error(
      "InvalidBucketName",
      "a bucket's name has 1 to 128 letters, digits, hyphens, dots and underscores",
    );
  if ((await buckets.get(name)) !== undefined)
    throw new S3Error("BucketAlreadyOwnedByYou", "there is a bucket with this name already");
  await buckets.create(name, { public: false }, { mayTakeOver: caller.isSuper });
  audit("bucket.created", { bucket: name, settings: { public: false } });
  return new Response(null, { headers: { location: `/${name}` } });
}

/**
 * Deletes a bucket without objects. Folders without files, also deleted ones, would keep everyone but the Super Token from making the
 * bucket again.
 */
async function deleteBucket({ request, files, bucket, buckets, grant, audit }: S3Call): Promise<Response> {
  if (!isBucketName(bucket.name))
    throw new S3Error(
      "InvalidRequest",
      "this is a deploy of a bucket; delete it with static-bucket-deploy_delete",
    );
  const folders: TreePath[] = [];
  const all = { prefix: "", delimiter: "", after: "", signal: request.signal };
  for await (const batch of keys(files.reader, all))
    for (const item of batch) {
      if (item.kind === "prefix" || item.entry.kind === "file") throw bucketNotEmpty();
      if ((await readObject(files, item.entry)).marker) throw bucketNotEmpty();
      folders.push(item.entry.path);
    }
  for (const folder of folders.reverse())
    if (
      !(await files.removeEmptyFolder(folder, { grant })) &&
      (await files.reader.find(folder)) !== undefined
    )
      throw bucketNotEmpty();
  const { versions } = files;
  const deletedFiles =
    versions.retentionDays > 0 ? await versions.list(treeRoot, { max: 1, filesOnly: true }) : undefined;
  if (deletedFiles?.length === 0) await versions.purge();
  await buckets.delete(bucket.name);
  audit("bucket.deleted", { bucket: bucket.name });
  return new Response(null, { status: 204 });
}

function bucketNotEmpty(): S3Error {
  return new S3Error("BucketNotEmpty", "the bucket has objects; delete them first");
}
