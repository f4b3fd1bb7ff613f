import type { Stats } from "node:fs";
import { fileClockTickMs } from "../base/file-clock.ts";

const micro = (ms: number) => Math.round(ms * 1000).toString(36);

/**
 * A strong validator that is new with every change: which file, how long, and when its content and its record changed, to the
 * microsecond. The time of the record moves even when a copy tool sets the time of the content back.
 */
export function etagOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `"${ino.toString(36)}-${size.toString(36)}-${micro(mtimeMs)}-${micro(ctimeMs)}"`;
}

/** Whether two looks at a path saw the same content. */
export function sameContent(a: Stats, b: Stats): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs
  );
}

/** Whether the file is so new that a further change might not show in its times. */
export function isFresh({ ctimeMs }: Stats, now = Date.now()): boolean {
  return now - ctimeMs < fileClockTickMs;
}
