import { codeOf, Fault, outOfDescriptors } from "../../base/fault.ts";
import { storeUnavailable, storeUnusable } from "./blob-faults.ts";

const denied =
  "the server lacks the permission in the folder of the blobs; check owner and mode of its files";
const away = "the folder of the blobs is missing on the server; mount its file system again";

/** Codes of a network file system that cannot be reached, or was taken away. */
const unavailable = new Set(["ESTALE", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENOTCONN", "ENODEV"]);

const details: Readonly<Record<string, string>> = {
  ENOSPC: "the disk of the blobs is full; nothing was changed",
  EDQUOT: "the disk quota of the blobs is used up; nothing was changed",
  EFBIG: "the file is too large for the disk of the blobs; nothing was changed",
  EMFILE: outOfDescriptors,
  ENFILE: outOfDescriptors,
};

/** Advice for the operator alone. */
const refused: Readonly<Record<string, string>> = {
  EROFS: "the folder of the blobs is read-only; mount it writable",
  EACCES: denied,
  EPERM: denied,
};

/** toFolderFault turns a system error into a Fault that names no path: clients see it. Other errors are returned as they are. */
export function toFolderFault(error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof Fault || code === undefined) return error;
  if (code === "ENOENT" || code === "ENOTDIR") return storeUnavailable(away, error);
  if (unavailable.has(code))
    return storeUnavailable(`the file system of the blobs does not answer (${code}); check its mount`, error);
  if (refused[code] !== undefined) return storeUnusable(refused[code], error);
  const reason = code === "ENOSPC" || code === "EDQUOT" ? ({ reason: "disk_full" } as const) : {};
  return new Fault("IoError", details[code] ?? `the disk of the blobs failed (${code})`, reason, {
    cause: error,
  });
}
