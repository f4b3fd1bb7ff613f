import { type ClientError, Unreachable } from "./errors.ts";
import { FileError } from "./file-error.ts";
import { pause } from "./pause.ts";

/** Pauses after failures in a row: three minutes in all, enough for a restart or an update of the server. */
const pausesMs = [250, 500, 1000, 2000, 4000, 8000, 15_000, 30_000, 30_000, 30_000, 30_000, 30_000];
/** A server that wants a longer pause than this is not waited for. */
const maxRetryAfterMs = 120_000;
/** Statuses after which the same request may succeed. */
const temporaryStatuses = [408, 425, 429, 500, 502, 503, 504];
const never = new AbortController().signal;

/** UploadRetry is a failure that may pass, and the pause before the next attempt. */
export interface UploadRetry {
  readonly error: ClientError;
  readonly pauseMs: number;
}

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause. A promise that it returns ends the pause early when it resolves. */
  readonly onRetry?: ((retry: UploadRetry) => Promise<unknown> | undefined) | undefined;
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
export function pauseAfter(error: ClientError, plannedMs: number): number | undefined {
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
    const { signal = never, onRetry } = this.#options;
    const plannedMs = pausesMs[this.#failures];
    const pauseMs = plannedMs && pauseAfter(error, plannedMs * (0.5 + Math.random()));
    if (pauseMs === undefined) throw error;
    this.#failures += 1;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end);
    onRetry?.({ error, pauseMs })?.then(end, end);
    await pause(pauseMs, over.signal);
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
