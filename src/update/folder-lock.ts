import { closeSync, constants, openSync } from "node:fs";
import { openLibc } from "../base/libc.ts";

const exclusive = 2;
const withoutWaiting = 4;

/**
 * One update at a time for a folder, whoever runs it. The lock is the operating system's, on the folder itself: it leaves no
 * file and goes when its process goes. Undefined while somebody else holds it.
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
