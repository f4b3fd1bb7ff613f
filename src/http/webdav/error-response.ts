import { codeOf, type Fault, isDiskFull, isOutOfDescriptors } from "../../base/fault.ts";
import { publicDetailOf } from "../../blobs/blob-store.ts";
import { LockedFault, TooManyLocksFault } from "../../buckets/metadata/locks.ts";
import { isBelow, type TreePath } from "../../buckets/path.ts";
import { type Failure, ParentMissing } from "../../buckets/ports.ts";
import { ConditionFault } from "../../buckets/write-conditions.ts";
import { blobMissing, errorReason, isBlobMissing, plainText, serviceUnavailable } from "../content/plain.ts";
import type { HttpError } from "../request/http-error.ts";
import { hrefOf } from "./dav-request.ts";
import { errorResponse, statuses } from "./xml/multistatus.ts";
import { lockRoot, lockRoots } from "./xml/request-xml.ts";

/** statusOf maps a fault to the status that WebDAV has for it. */
function statusOf(fault: Fault): number {
  if (fault instanceof LockedFault) return 423;
  if (fault instanceof ConditionFault) return 412;
  if (fault instanceof ParentMissing) return 409;
  if (isFolderInTheWay(fault)) return 405;
  if (isOutOfDescriptors(fault) || fault.data.reason === "unavailable") return 503;
  if (isBlobMissing(fault)) return 502;
  if (isDiskFull(fault) || fault instanceof TooManyLocksFault) return 507;
  switch (fault.kind) {
    case "NotFound":
      return 404;
    case "InvalidInput":
      return fault.data.reason === "name_too_long" ? 400 : 409;
    case "IoError":
      return ["EACCES", "EPERM", "EROFS"].includes(codeOf(fault.cause) ?? "") ? 403 : 500;
    case "DatabaseError":
    case "Busy":
      return 503;
    default:
      return 500;
  }
}

/** conditionResponse answers an error that names a condition of RFC 4918 §16. */
export function conditionResponse({
  status,
  options: { condition = "", headers = {} },
}: HttpError): Response {
  return errorResponse(status, condition, headers);
}

/** isFolderInTheWay returns whether a fault says that a folder exists where the method needs a file or nothing. */
export function isFolderInTheWay({ data }: Fault): boolean {
  return data.reason === "is_folder";
}

export function faultResponse(fault: Fault, bucket: string, path: TreePath): Response {
  if (fault instanceof LockedFault) return lockedResponse(fault, bucket, path);
  const status = statusOf(fault);
  const detail = publicDetailOf(fault);
  if (isBlobMissing(fault)) return blobMissing(`502 ${detail}.`);
  return status === 503
    ? serviceUnavailable(detail)
    : plainText(status, `${status} ${detail}.`, errorReason(fault.data.reason));
}

/** Names the locks that prevent the request: each with a status of its own if all are below the path, else in one condition. */
function lockedResponse({ locks }: LockedFault, bucket: string, path: TreePath): Response {
  if (locks.every((lock) => isBelow(lock.path, path)))
    return statuses(locks.map((lock) => ({ href: lockRoot(lock, bucket), status: 423 })));
  const condition = `<D:lock-token-submitted>${lockRoots(locks, bucket)}</D:lock-token-submitted>`;
  return errorResponse(423, condition);
}

/** failuresResponse reports what a COPY, MOVE or DELETE could not do: RFC 4918 §9.6.1, §9.8.5. */
export function failuresResponse(failures: readonly Failure[], bucket: string): Response {
  return statuses(
    failures.map(({ path, fault }) => ({ href: hrefOf(bucket, path, "file"), status: statusOf(fault) })),
  );
}

/** failureCount returns the field of an audit entry for what could not be done; none if everything was. */
export function failureCount({ length }: readonly Failure[]): { readonly failures?: number } {
  return length === 0 ? {} : { failures: length };
}
