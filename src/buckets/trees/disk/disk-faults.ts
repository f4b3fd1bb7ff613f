import { codeOf, Fault, type FaultReason, outOfDescriptors } from "../../../base/fault.ts";
import type { TreePath } from "../../path.ts";

const faultsByCode: Readonly<
  Record<
    string,
    readonly [kind: "IoError" | "NotFound" | "InvalidInput", detail: string, reason?: FaultReason]
  >
> = {
  ENOENT: ["NotFound", "there is no such file in the bucket"],
  ENOTDIR: ["InvalidInput", "a file exists where the path needs a folder; choose another path", "is_file"],
  EISDIR: ["InvalidInput", "the path is a folder, not a file", "is_folder"],
  ELOOP: ["NotFound", "there is no such file in the bucket"],
  ENXIO: ["NotFound", "there is no such file in the bucket"],
  ENAMETOOLONG: [
    "InvalidInput",
    "a name in the path is too long for the disk; choose a shorter one",
    "name_too_long",
  ],
  EILSEQ: [
    "InvalidInput",
    "the disk does not accept a name in this path; choose another",
    "name_not_accepted",
  ],
  EINVAL: [
    "InvalidInput",
    "the disk does not accept a name in this path; choose another",
    "name_not_accepted",
  ],
  ENOSPC: ["IoError", "the disk is full; nothing was changed", "disk_full"],
  EDQUOT: ["IoError", "the disk quota is used up; nothing was changed", "disk_full"],
  EFBIG: ["IoError", "the file is too large for the disk; nothing was changed"],
  EROFS: ["IoError", "the bucket's folder is read-only; mount it writable"],
  EACCES: [
    "IoError",
    "the server lacks the permission in the bucket's folder; check owner and mode of its files",
  ],
  EPERM: [
    "IoError",
    "the server lacks the permission in the bucket's folder; check owner and mode of its files",
  ],
  EMFILE: ["IoError", outOfDescriptors],
  ENFILE: ["IoError", outOfDescriptors],
};

/**
 * toTreeFault turns a system error into a Fault that names the path in the bucket, never one on the disk. Other errors are
 * returned as they are.
 */
export function toTreeFault(error: unknown, path: TreePath): unknown {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  // What a protocol throws while it is read for the disk has codes in mixed case.
  if (code === undefined || !/^[A-Z][A-Z\d_]*$/.test(code)) return error;
  const [kind, detail, reason] = faultsByCode[code] ?? (["IoError", `the disk failed (${code})`] as const);
  return new Fault(kind, detail, { path, ...(reason && { reason }) }, { cause: error });
}

/** crossesDisks returns whether a rename failed because source and target are on different file systems, or one is a mount point. */
export function crossesDisks(error: unknown): boolean {
  return codeOf(error) === "EXDEV" || codeOf(error) === "EBUSY";
}
