import { dlopen, ptr } from "bun:ffi";

/** The kernel counts in hundredths of a second in /proc, on every architecture that Bun runs on. */
export const ticksPerSecond = 100;

/** The kind of clock that counts what the scheduler has given to a process (`CPUCLOCK_SCHED` of Linux). */
const scheduledTime = 2;
const result = new BigInt64Array(2);
const libc = openLibc();

/**
 * exactCpuSeconds is the same time that `/proc/<pid>/stat` has in hundredths of a second, in nanoseconds: the clock that
 * `clock_getcpuclockid(3)` names, of all threads. Undefined where the C library cannot be called.
 */
export function exactCpuSeconds(pid: number): number | undefined {
  if (libc === undefined) return undefined;
  if (libc.clock_gettime((~pid << 3) | scheduledTime, ptr(result)) !== 0) return undefined;
  const [seconds = 0n, nanoseconds = 0n] = result;
  return Number(seconds) + Number(nanoseconds) / 1e9;
}

function openLibc() {
  try {
    return dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } }).symbols;
  } catch {
    console.log(
      `NOTE: processor time is read in steps of ${1000 / ticksPerSecond} ms, because there is no libc.so.6.`,
    );
    return undefined;
  }
}
