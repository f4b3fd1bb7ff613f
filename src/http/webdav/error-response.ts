import { codeOf, type Fault } from "../../base/fault.ts";
import { escapeXml } from "../../base/xml-text.ts";
import { isDiskFull, isOutOfDescriptors } from "../../buckets/disk-faults.ts";
import { isBelow, LockedFault, TooManyLocksFault } from "../../buckets/locks.ts";
import type { TreePath } from "../../buckets/path.ts";
import { plainText, serviceUnavailable } from "../content/plain.ts";
import type { Refused } from "./http-error.ts";
import { lockRoot } from "./xml/lock-xml.ts";
import { errorResponse, statuses } from "./xml/multistatus.ts";

/** What WebDAV calls a failure. */
export function statusOf(fault: Fault): number {
  if (fault instanceof LockedFault) return 423;
  if (isOutOfDescriptors(fault)) return 503;
  if (isDiskFull(fault) || fault instanceof TooManyLocksFault) return 507;
  switch (fault.kind) {
    case "NotFound":
      return 404;
    case "InvalidInput":
      return codeOf(fault.cause) === "ENAMETOOLONG" ? 400 : 409;
    case "IoError":
      return ["EACCES", "EPERM", "EROFS"].includes(codeOf(fault.cause) ?? "") ? 403 : 500;
    case "DatabaseError":
    case "Busy":
      return 503;
    default:
      return 500;
  }
}

export function refusedResponse({ status, detail, condition, headers }: Refused): Response {
  if (condition !== undefined) return errorResponse(status, condition, headers);
  return plainText(status, `${status} ${detail}.`, headers);
}

export function faultResponse(fault: Fault, bucket: string, path: TreePath): Response {
  if (fault instanceof LockedFault) return lockedResponse(fault, bucket, path);
  if (statusOf(fault) === 503) return serviceUnavailable(fault.detail);
  return plainText(statusOf(fault), `${statusOf(fault)} ${fault.detail}.`);
}

/** The lock that stands in the way, by its address; one below what was asked for is a status of its own. */
function lockedResponse({ locks }: LockedFault, bucket: string, path: TreePath): Response {
  if (locks.every((lock) => isBelow(lock.path, path)))
    return statuses(locks.map((lock) => ({ href: lockRoot(lock, bucket), status: 423 })));
  const roots = locks.map((lock) => `<D:href>${escapeXml(lockRoot(lock, bucket))}</D:href>`);
  return errorResponse(423, `<D:lock-token-submitted>${roots.join("")}</D:lock-token-submitted>`, {});
}
