import { getPriority, setPriority } from "node:os";
import { codeOf } from "./fault.ts";

/** `isRunning` returns whether a process with this id runs, of whichever user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** The lowest priority of a process. */
const maxNiceness = 19;

/**
 * `lowerPriority` lets the server come before this process where the two share a core: with the same priority, the kernel lets an
 * answer wait until a time slice is over. `steps` of niceness: 8 leave it a seventh of a core beside another busy process, 10 a tenth.
 */
export function lowerPriority(steps: number): void {
  try {
    setPriority(Math.min(getPriority() + steps, maxNiceness));
  } catch {
    // A sandbox may forbid it. The work is the same, only answers beside it take longer.
  }
}

/** Exit codes, which scripts rely on. */
export const exitCodes = { done: 0, failed: 1, usage: 2, refused: 3, unreachable: 4 } as const;

/** `exitMeanings` are the exit codes in words. */
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: "Success.",
  failed: "Failure.",
  usage: "The command line is wrong.",
  refused: "The server refused the token or the request.",
  unreachable: "The server cannot be reached.",
};
