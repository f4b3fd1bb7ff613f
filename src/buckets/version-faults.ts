import { Fault } from "../base/fault.ts";
import type { TreePath } from "./path.ts";
import type { VersionName } from "./ports.ts";

/** keepsNoVersions is the Fault of a store that keeps nothing of what is deleted or replaced. */
export function keepsNoVersions(): Fault {
  return new Fault(
    "Other",
    "nothing is kept of what is deleted or replaced on this server; restore it from a backup. `trash_days` in the configuration keeps it from now on, and so does a store of files with versions (`[files] url`)",
    { reason: "no_versions" },
  );
}

/** notKept is the Fault for a version that does not exist, or not any more. */
export function notKept({ version, path }: VersionName): Fault {
  return new Fault("NotFound", "there is no such version of this path, or it is not kept any more", {
    path,
    version,
  });
}

/** isTaken is the Fault for a path at which nothing may exist. */
export function isTaken(path: TreePath): Fault {
  return new Fault("InvalidInput", "something exists at this path; choose another", {
    path,
    reason: "path_taken",
  });
}

/** keepsFiles is the Fault for the path of a new bucket at which versions of an earlier bucket are kept. */
export function keepsFiles(): Fault {
  return new Fault(
    "InvalidInput",
    "deleted files of an earlier bucket are kept at this path, which the bucket could restore; choose another path, or have the Super Token do this",
    { field: "path", reason: "path_taken" },
  );
}
