import { timeFactor } from "./tier.ts";

/** A wait that takes longer is in vain; it ends before the story does, so that the failure names it. */
const patienceMs = 15_000 * timeFactor;

/** How long to pause before the next of many looks: a moment is caught as it comes, and a long wait leaves the processor to others. */
function pauseMs(waitedMs: number): number {
  return waitedMs < 200 ? 5 : 25;
}

/** Waits, within bounds, until `look` answers something that is neither undefined nor false. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  ms = patienceMs,
): Promise<T> {
  const begin = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waitedMs = Date.now() - begin;
    if (waitedMs > ms) throw new Error(`waited in vain until ${what}`);
    await Bun.sleep(pauseMs(waitedMs));
  }
}

/** What `promise` comes to, unless that takes suspiciously long. */
export async function within<T>(what: string, promise: Promise<T>, ms = patienceMs): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`waited in vain until ${what}`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    // A timer would keep the process alive.
    clearTimeout(timer);
  }
}
