import { closeSync, constants, openSync } from "node:fs";
import { openLibc } from "../base/libc.ts";

const exclusive = 2;
const withoutWaiting = 4;

/**
 * `lockFolder` allows one update of a folder at a time, whichever process runs it. It returns a function that unlocks, or undefined
 * if another process has the lock. The lock is the operating system's, on the folder itself: it leaves no file and ends with its
 * process.
 */
export function lockFolder(folder: string): (() => void) | undefined {
  const libc = openLibc({ flock: { args: ["i32", "i32"], returns: "i32" } });
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  if (libc !== undefined && libc.flock(fd, exclusive | withoutWaiting) !== 0) {
    closeSync(fd);
    return undefined;
  }
  return () => closeSync(fd);
}
