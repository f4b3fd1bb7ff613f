import { closeSync, constants, openSync } from "node:fs";
import { tryLock } from "../base/local-fs/file-lock.ts";

/**
 * `lockFolder` allows one update of a folder at a time, whichever process runs it. It returns a function that unlocks, or undefined
 * if another process has the lock. The lock is the operating system's, on the folder itself: it leaves no file and ends with its
 * process.
 */
export function lockFolder(folder: string): (() => void) | undefined {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  if (!tryLock(fd)) {
    closeSync(fd);
    return undefined;
  }
  return () => closeSync(fd);
}
