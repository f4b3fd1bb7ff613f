import { codeOf } from "../base/fault.ts";

/** The time that a statement waits for another process that has locked the file. */
const busyMs = 5000;

/**
 * `whenFree` runs `run` again while another process has locked the file, up to `timeoutMs`. SQLite's own `busy_timeout` would block
 * the whole process while it waits.
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
