import { ClientError, Unreachable } from "./errors.ts";
import { FileError } from "./file-error.ts";

// Everything that is tried again pauses by `pauseAfterFailures`, and `isTemporary` decides what is tried again: requests of this
// client, its connections, and the transfers of the command line.

const firstPauseMs = 250;
const maxPauseMs = 30_000;
/** Attempts after failures in a row: their pauses are three minutes in all, enough for a restart or an update of the server. */
const defaultRetries = 12;
/** A server that wants a longer pause than this is not waited for. */
const maxRetryAfterMs = 120_000;
/** Statuses after which the same request may succeed. */
const temporaryStatuses = [408, 425, 429, 500, 502, 503, 504];
const never = new AbortController().signal;

/**
 * pauseAfterFailures returns the pause after some failures in a row: twice as long each time, up to `maxMs`, and by chance half as
 * long or half as long again. A restart disconnects all clients at once, and so they do not return at once.
 */
export function pauseAfterFailures(failures: number, maxMs: number = maxPauseMs): number {
  return Math.min(firstPauseMs * 2 ** (failures - 1), maxMs) * (0.5 + Math.random());
}

/** UploadRetry is a failure that may pass, and the pause before the next attempt. */
export interface UploadRetry {
  readonly error: ClientError;
  readonly pauseMs: number;
}

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause. A promise that it returns ends the pause early when it resolves. */
  readonly onRetry?: ((retry: UploadRetry) => Promise<unknown> | undefined) | undefined;
  /** How often it is tried again; default: for three minutes. Seven times take half a minute. */
  readonly maxRetries?: number | undefined;
  /** Waits between two attempts, until the signal fires; default: by the time of the machine. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Whether the same request may succeed later: the server could not be reached, or is busy. */
export function isTemporary(error: unknown): error is ClientError {
  if (!(error instanceof FileError)) return error instanceof Unreachable;
  // Content that the store has lost does not come back by itself.
  return temporaryStatuses.includes(error.status) && error.reason !== "blob_missing";
}

/**
 * The pause before the next attempt: longer than `plannedMs` where the server asks for that, undefined where it asks for too long
 * a one.
 */
function pauseAfter(error: ClientError, plannedMs: number): number | undefined {
  const wantedMs = (error instanceof FileError ? error.retryAfterMs : undefined) ?? 0;
  return wantedMs > maxRetryAfterMs ? undefined : Math.max(plannedMs, wantedMs);
}

/** Backoff waits between the attempts of one upload. */
export class Backoff {
  readonly #options: RetryOptions;
  #failures = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** Call it when an attempt has made progress: the pauses begin with the shortest one again. */
  restart(): void {
    this.#failures = 0;
  }

  /** Waits before the next attempt; throws the error after the last one. */
  async wait(error: ClientError): Promise<void> {
    const { signal = never, onRetry, maxRetries = defaultRetries, sleep = pause } = this.#options;
    this.#failures += 1;
    const pauseMs = pauseAfter(error, pauseAfterFailures(this.#failures));
    if (pauseMs === undefined || this.#failures > maxRetries) throw error;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end);
    onRetry?.({ error, pauseMs })?.then(end, end);
    await sleep(pauseMs, over.signal);
    signal.removeEventListener("abort", end);
    signal.throwIfAborted();
  }
}

/** Runs `work` until it succeeds, fails for good, or has failed for too long. `work` is told how often it has failed. */
export async function withRetries<T>(
  work: (failures: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const backoff = new Backoff(options);
  for (let failures = 0; ; failures += 1) {
    try {
      return await work(failures);
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (!isTemporary(error)) throw error;
      await backoff.wait(error);
    }
  }
}

/** Resolves after `ms` milliseconds, or as soon as `signal` fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** Sends a request, and once more where `onError` answers true to its failure. */
export async function retried<T>(
  onError: ((error: ClientError) => boolean | Promise<boolean>) | undefined,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ClientError) || !(await onError?.(error))) throw error;
  }
  return send();
}
