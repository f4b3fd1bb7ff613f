import { codeOf } from "./fault.ts";

/** `isRunning` tells whether a process with this id runs, of whichever user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}
