import { openLibc } from "./local-calls.ts";

const exclusive = 2;
const withoutWaiting = 4;

/**
 * `tryLock` takes the operating system's lock (flock) on an open file or folder, without waiting. It returns false if another
 * process has it. The lock ends when the descriptor is closed. Where the system has no such lock, it returns true.
 */
export function tryLock(fd: number): boolean {
  const libc = openLibc({ flock: { args: ["i32", "i32"], returns: "i32" } });
  return libc === undefined || libc.flock(fd, exclusive | withoutWaiting) === 0;
}
