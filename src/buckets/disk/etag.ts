import { fileClockTickMs } from "../../base/local-fs/file-calls.ts";
import type { FileState } from "../../base/local-fs/local-calls.ts";

const micro = (ms: number) => Math.round(ms * 1000).toString(36);

/**
 * etagOf is a strong validator: inode, size, and the times of the last change of the content and of the inode, in microseconds. The
 * inode's time moves even when a copy tool sets the content's time back.
 */
export function etagOf({ ino, size, mtimeMs, ctimeMs }: FileState): string {
  const modified = micro(mtimeMs);
  const changed = ctimeMs === mtimeMs ? modified : micro(ctimeMs);
  return `"${ino.toString(36)}-${size.toString(36)}-${modified}-${changed}"`;
}

/** sameContent is whether two stats are of one file with the same content. */
export function sameContent(a: FileState, b: FileState): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs
  );
}

/** settledAtMs is the time from which a further change is sure to show in the file's times. */
export function settledAtMs({ ctimeMs }: FileState): number {
  return ctimeMs + fileClockTickMs;
}
