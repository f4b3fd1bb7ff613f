import { codeOf } from "../base/fault.ts";

/** How long a statement waits for another process that has the file locked. */
const busyMs = 5000;

/**
 * Tries again for a while when another process has the file locked. It takes the place of SQLite's own `busy_timeout`, which
 * would hold up the whole process while it waits.
 */
export async function whenFree<T>(run: () => T, timeoutMs = busyMs): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    await Bun.sleep(pause);
  }
}

export function isBusy(error: unknown): boolean {
  return codeOf(error)?.startsWith("SQLITE_BUSY") === true;
}
