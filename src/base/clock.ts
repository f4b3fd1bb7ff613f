/**
 * Clock is the time by which a node lives: whatever ends, expires, repeats or drains asks the clock that the node was opened with, so that
 * a test can turn it. `performance.now()` stays where it only measures a duration for a log entry, a metric or a pause of the event loop.
 * Real timers stay where they bound an answer of the system: of a socket, a disk, another process. `scripts/forbidden-uses.ts` lists those files.
 */
export interface Clock {
  /** Returns the wall time in Unix milliseconds. It jumps when somebody sets it. */
  now(): number;
  /** Returns the milliseconds since a moment in the past. Nobody can set this time. */
  monotonic(): number;
  /** Resolves after `ms`, or at once when `signal` fires. Does not reject. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once, after `ms`, unless the result is disposed before. Does not keep the process alive. */
  after(ms: number, run: () => unknown): Disposable;
  /** Calls `run` again and again, each time after `ms`, until the result is disposed. Does not keep the process alive. */
  every(ms: number, run: () => unknown): Disposable;
}

/** `systemClock` is the time of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, ms));
      signal?.addEventListener("abort", end);
    }),
  after(ms, run) {
    const timer = setTimeout(run, Math.max(0, ms)).unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  },
};

/**
 * `atMost` resolves to the value of `work`, or to `late` if that takes longer than `ms`. The work goes on. Without a clock the time is the
 * system's: what bounds an answer of a database or a disk must not end because a story turned the clock.
 */
export async function atMost<T, Late = undefined>(
  work: Promise<T>,
  { ms, late, clock = systemClock }: { readonly ms: number; readonly late?: Late; readonly clock?: Clock },
): Promise<T | Late> {
  if (ms === Number.POSITIVE_INFINITY) return await work;
  const { promise, resolve } = Promise.withResolvers<Late>();
  using _timer = clock.after(ms, () => resolve(late as Late));
  return await Promise.race([work, promise]);
}

/** `orAborted` resolves as `work` does, or rejects with the reason of `signal` as soon as that fires. The work goes on, unobserved. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** `millisecondsSince` returns the time since `start` (of `performance.now()`) in milliseconds, with three decimals. */
export function millisecondsSince(start: number): number {
  return Math.round((performance.now() - start) * 1000) / 1000;
}

/** `httpDate` writes a time in Unix milliseconds for an HTTP header: RFC 9110 §5.6.7. */
export const httpDate = inSeconds((date) => date.toUTCString());

/** `isoDate` writes a time in Unix milliseconds as RFC 3339 has it, without a part of a second. */
export const isoDate = inSeconds((date) => `${date.toISOString().slice(0, -".000Z".length)}Z`);

/** Keeps the last text: one file is requested again and again, and the files of a folder are often of the same second. */
function inSeconds(write: (date: Date) => string): (ms: number) => string {
  let last = { second: Number.NaN, text: "" };
  return (ms) => {
    const second = Math.floor(ms / 1000);
    if (second !== last.second) last = { second, text: write(new Date(second * 1000)) };
    return last.text;
  };
}

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

/**
 * `fileClockTickMs` is more than one tick of a file system's clock: two changes within one tick have the same modification time.
 */
export const fileClockTickMs = 50;
