import { Fault } from "../../base/fault.ts";
import type { TreePath } from "../path.ts";
import type { VersionName } from "../ports.ts";

/** keepsNoVersions returns the Fault of a store that keeps nothing of what is deleted or replaced. */
export function keepsNoVersions(): Fault {
  return new Fault(
    "Other",
    "this server does not keep deleted or replaced files; restore them from a backup. To keep them from now on, set `keep_removed_days`",
    { reason: "no_versions" },
  );
}

/** noSuchVersion returns the Fault for a version that does not exist, or not any more. */
export function noSuchVersion({ version, path }: VersionName): Fault {
  return new Fault("NotFound", "this path has no such version, or the version has expired", {
    path,
    version,
  });
}

/** isTaken returns the Fault for a path at which nothing may exist. */
export function isTaken(path: TreePath): Fault {
  return new Fault("InvalidInput", "something exists at this path; choose another", {
    path,
    reason: "path_taken",
  });
}

/** keepsFiles returns the Fault for the path of a new bucket at which versions of an earlier bucket are kept. */
export function keepsFiles(): Fault {
  return new Fault(
    "InvalidInput",
    "this path has deleted files of an earlier bucket, which the new bucket could restore; choose another path, or use the Super Token",
    { field: "path", reason: "path_taken" },
  );
}

/** noUpload returns the Fault for an upload that does not exist, has ended, or is not the caller's. */
export function noUpload(): Fault {
  return new Fault("NotFound", "there is no such upload; it ended or was never begun, begin it again", {
    reason: "no_upload",
  });
}

/** isBusy returns the Fault for a second request that would add to an upload while another one does, or has just done so. */
export function isBusy(): Fault {
  return new Fault(
    "InvalidInput",
    "another request is using this upload; ask for its offset (HEAD) and continue from there",
    { reason: "upload_busy" },
  );
}

/** wrongOffset returns the Fault for a request that does not begin where the stored content ends. */
export function wrongOffset(offset: number): Fault {
  return new Fault(
    "InvalidInput",
    `Upload-Offset is not the offset of the upload, which is ${offset}; continue from there`,
    { reason: "upload_offset", offset },
  );
}

/** tooManyBytes returns the Fault for a body that goes beyond the length of its upload. */
export function tooManyBytes(length: number): Fault {
  return new Fault("InvalidInput", `the body goes beyond the ${length} bytes of this upload`, {
    reason: "upload_length",
  });
}

/** tooManyUploads returns the Fault for another upload while as many are unfinished as may be. */
export function tooManyUploads(of: "bucket" | "token", max: number): Fault {
  return new Fault(
    "InvalidInput",
    `${max} uploads ${of === "bucket" ? "into this bucket" : "of this token"} are unfinished; finish or cancel some`,
    { reason: "too_many_uploads" },
  );
}

/** wrongDigest returns the Fault for content that is not what its digest says. The upload has ended. */
export function wrongDigest(): Fault {
  return new Fault(
    "InvalidInput",
    "the content does not match Repr-Digest; nothing was changed and the upload has ended, send the file again",
    { reason: "digest_mismatch" },
  );
}
