import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  lchownSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "./fault.ts";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * `inheritedOwner` is the owner that something at `path` gets if root creates or replaces it: that of what exists there, or of the
 * nearest folder above. A server that runs as another user must be able to write it. Undefined if this process is not root.
 */
export function inheritedOwner(path: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  for (let at = resolve(path); ; at = dirname(at)) {
    const stats = statSync(at, { throwIfNoEntry: false });
    if (stats !== undefined) return { uid: stats.uid, gid: stats.gid };
    if (at === dirname(at)) return undefined;
  }
}

/** `makeFolder` creates a folder and the missing ones above it, all with the inherited owner. */
export function makeFolder(path: string, mode = 0o777): void {
  const whole = resolve(path);
  const owner = inheritedOwner(whole);
  const first = mkdirSync(whole, { recursive: true, mode });
  if (owner === undefined || first === undefined) return;
  // Without following links: another user may own the folder and put one there.
  for (let at = whole; at.length >= first.length; at = dirname(at)) lchownSync(at, owner.uid, owner.gid);
}

/**
 * `makeFile` creates an empty file, as root with the owner that `like` has or inherits. A file that exists stays as it is. The target
 * of a link gets no other owner: whoever can put a link there would get a file of theirs anywhere.
 */
export function makeFile(path: string, mode: number, like = path): void {
  const owner = inheritedOwner(like);
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (!existsSync(path)) closeSync(openSync(path, "a", mode));
    return;
  }
  try {
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
  } finally {
    closeSync(file);
  }
}
