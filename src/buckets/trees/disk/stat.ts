import { lstatSync, type Stats } from "node:fs";
import { codeOf } from "../../../base/fault.ts";
import { fileClockTickMs } from "../../../base/local-fs/file-calls.ts";
import { type FileState, stateAt } from "../../../base/local-fs/local-calls.ts";
import { isAbsence } from "../../../base/local-fs/stat.ts";

/** lstatSyncOrUndefined stats a path, or a link at its end; undefined when nothing exists there, or it cannot be read. */
export function lstatSyncOrUndefined(diskPath: string): FileState | undefined {
  return stateAt(diskPath) ?? statSyncOrUndefined(diskPath, lstatSync);
}

/** statSyncOrUndefined is `statOrUndefined` for `statSync` and `lstatSync`; undefined also when the path cannot be read. */
export function statSyncOrUndefined(
  diskPath: string,
  stat: (path: string, options: { throwIfNoEntry: false }) => Stats | undefined,
): Stats | undefined {
  try {
    return stat(diskPath, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error) || codeOf(error) === "EACCES" || codeOf(error) === "EIO") return undefined;
    throw error;
  }
}

const micro = (ms: number) => Math.round(ms * 1000).toString(36);

/**
 * etagOf returns a strong validator: inode, size, and the times of the last change of the content and of the inode, in microseconds. The
 * inode's time moves even when a copy tool sets the content's time back.
 */
export function etagOf({ ino, size, mtimeMs, ctimeMs }: FileState): string {
  const modified = micro(mtimeMs);
  const changed = ctimeMs === mtimeMs ? modified : micro(ctimeMs);
  return `"${ino.toString(36)}-${size.toString(36)}-${modified}-${changed}"`;
}

/** sameContent returns whether two stats are of one file with the same content. */
export function sameContent(a: FileState, b: FileState): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs
  );
}

/** settledAtMs returns the time from which a further change is sure to show in the file's times. */
export function settledAtMs({ ctimeMs }: FileState): number {
  return ctimeMs + fileClockTickMs;
}
