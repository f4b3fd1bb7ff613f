import { type Clock, systemClock } from "./clock.ts";

interface RetryOptions {
  /** Returns the pause before the next attempt in milliseconds; undefined to give up. `failures` counts from 1. */
  readonly pauseAfter: (error: unknown, failures: number) => number | undefined;
  /** Ends a pause: `retry` then rejects with its reason. The work sees to it by itself. */
  readonly signal?: AbortSignal;
  /** Default: the system's, because what fails is another program or a disk. */
  readonly clock?: Clock;
}

/** `retry` does work until it succeeds, with the pauses that `pauseAfter` returns. It rejects with the last error once that gives up. */
export async function retry<T>(
  work: () => T | Promise<T>,
  { pauseAfter, signal, clock = systemClock }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      const pauseMs = pauseAfter(error, failures);
      if (pauseMs === undefined) throw error;
      await clock.sleep(pauseMs, signal);
      signal?.throwIfAborted();
    }
  }
}
