import type { TreePath } from "./path.ts";

/** VersionName names a version: the path that it had, and the change of the bucket that deleted or replaced it. */
export interface VersionName {
  readonly version: number;
  readonly path: TreePath;
}

/** FileVersion is a file or folder that was deleted or replaced, and can be restored for some time. Times are Unix milliseconds. */
export interface FileVersion extends VersionName {
  readonly kind: "file" | "folder";
  /** In bytes; 0 for a folder. */
  readonly size: number;
  readonly modifiedMs: number;
  readonly removedAtMs: number;
  readonly keptUntilMs: number;
}

/** KeptSize is how much of what was deleted or replaced can be restored. */
export interface KeptSize {
  /** As many as `history` lists; a folder is one. */
  readonly versions: number;
  /** Of all files, also those in folders. Content that several versions share counts for each. */
  readonly bytes: number;
}

export interface HistoryOptions {
  /** How many at most. */
  readonly max: number;
  /** The last one of an earlier answer, which is continued. */
  readonly after?: VersionName | undefined;
  /** Whether files are listed alone, with those of deleted folders, each with the version of its folder. */
  readonly filesOnly?: boolean | undefined;
}
