import { CredentialsRejected } from "../../auth/authenticator.ts";
import { codeOf, Fault, isDiskFull, isOutOfDescriptors, retryAfterSeconds } from "../../base/fault.ts";
import { publicDetailOf } from "../../blobs/blob-store.ts";
import { LockedFault } from "../../buckets/metadata/locks.ts";
import { ConditionFault } from "../../buckets/write-conditions.ts";
import { isBlobMissing } from "../content/plain.ts";
import { HttpError } from "../request/http-error.ts";
import { document, element } from "./xml.ts";

/** The codes of S3 that the server answers with, and their statuses. Those without an AWS page have the names that other servers use. */
const statuses = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  /** Deleted files, or others, are where the bucket would be. */
  BucketAlreadyExists: 409,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  /** A folder exists where a key needs a file. */
  ExistingObjectIsDirectory: 409,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidPolicyDocument: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedPOSTRequest: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  /** A file exists where a key needs a folder. */
  ObjectParentIsFile: 409,
  OperationAborted: 409,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  XAmzContentSHA256Mismatch: 400,
} as const;

type S3Code = keyof typeof statuses;

/**
 * S3Error is a request that ends with an error of S3. `detail` says what was wrong and what to do. It has no member `code`: a store that
 * reads a body would take it for an error of the system.
 */
export class S3Error extends Error {
  override readonly name = "S3Error";

  constructor(
    readonly s3Code: S3Code,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }
}

/** toS3Error returns the error of S3 for what an operation threw; undefined for what is not a fault. */
export function toS3Error(error: unknown): S3Error | undefined {
  if (error instanceof S3Error) return error;
  if (error instanceof HttpError) return new S3Error(codeOfStatus(error.status), error.detail);
  if (error instanceof CredentialsRejected) return new S3Error("SignatureDoesNotMatch", error.detail);
  if (error instanceof Fault) return fromFault(error);
  // The client disconnected; the response is not sent.
  if (error instanceof Error && error.name === "AbortError")
    return new S3Error("IncompleteBody", "the request was aborted");
  return undefined;
}

function fromFault(fault: Fault): S3Error {
  const detail = publicDetailOf(fault);
  const { reason } = fault.data;
  if (fault instanceof LockedFault)
    return new S3Error("OperationAborted", `${detail}; S3 has no lock tokens: wait until the lock ends`);
  if (fault instanceof ConditionFault) return new S3Error("PreconditionFailed", detail);
  if (isOutOfDescriptors(fault) || reason === "unavailable") return unavailable(detail);
  // Its text is for the operator, and a stranger may be the one who asks.
  if (reason === "no_link_key")
    return new S3Error("InternalError", "the server has no key for secrets of S3; its log says why");
  if (isBlobMissing(fault)) return new S3Error("InternalError", detail);
  if (isDiskFull(fault)) return new S3Error("InsufficientStorage", detail);
  switch (fault.kind) {
    case "PermissionDenied":
      return new S3Error("AccessDenied", detail);
    case "NotFound":
      return new S3Error(reason === "no_upload" ? "NoSuchUpload" : "NoSuchKey", detail);
    case "InvalidInput":
      return new S3Error(codeOfInput(String(reason)), detail);
    case "DatabaseError":
    case "Busy":
      return unavailable(detail);
    case "IoError":
      if (["EACCES", "EPERM", "EROFS"].includes(codeOf(fault.cause) ?? ""))
        return new S3Error("AccessDenied", detail);
  }
  return new S3Error("InternalError", detail);
}

function codeOfInput(reason: string): S3Code {
  switch (reason) {
    case "is_folder":
      return "ExistingObjectIsDirectory";
    case "is_file":
      return "ObjectParentIsFile";
    case "name_too_long":
    case "too_deep":
      return "KeyTooLongError";
    case "path_taken":
      return "BucketAlreadyExists";
    case "upload_busy":
      return "OperationAborted";
    case "too_many_uploads":
      return "SlowDown";
    default:
      return "InvalidArgument";
  }
}

function codeOfStatus(status: number): S3Code {
  switch (status) {
    case 401:
    case 403:
      return "AccessDenied";
    case 404:
      return "NoSuchBucket";
    case 409:
      return "OperationAborted";
    case 412:
      return "PreconditionFailed";
    default:
      return "InvalidRequest";
  }
}

function unavailable(detail: string): S3Error {
  return new S3Error("ServiceUnavailable", detail, { "retry-after": String(retryAfterSeconds) });
}

/** errorResponse answers with an error; that to HEAD has no body. */
export function errorResponse(
  { s3Code: code, detail, headers }: S3Error,
  { method, resource, requestId }: ErrorContext,
): Response {
  const text = document(
    "Error",
    element("Code", code) +
      element("Message", detail) +
      element("Resource", resource) +
      element("RequestId", requestId),
    "",
  );
  return new Response(method === "HEAD" ? null : text, {
    status: statuses[code],
    headers: { ...headers, "content-type": "application/xml", "x-amz-request-id": requestId },
  });
}

interface ErrorContext {
  readonly method: string;
  /** The path of the request. */
  readonly resource: string;
  readonly requestId: string;
}

/** errorElements are an error inside another answer. */
export function errorElements({ s3Code: code, detail }: S3Error): string {
  return element("Code", code) + element("Message", detail);
}
