import { type BucketFiles, FileError, Unreachable } from "../../client/index.ts";
import { pause } from "../../client/pause.ts";
import type { Meter } from "./meter.ts";

/** Transfers at once. The server answers each when it is on the disk; meanwhile the others travel. */
const maxParallel = 16;

/** Pauses between the attempts of one transfer: half a minute in all, enough for a restart of the server or a short loss of the network. */
const retryPausesMs = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000];

/** Statuses after which the same request may succeed. */
const temporaryStatuses = [408, 429, 500, 502, 503, 504];

/** Transfer is what the uploads or the downloads of one run share. */
export interface Transfer {
  readonly files: BucketFiles;
  readonly meter: Meter;
  readonly retry: RetryPolicy;
}

/** Works on all items, several at once. After the first error no further item is begun; it is thrown when those under way have ended. */
export async function inParallel<T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  let first: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (!either.aborted) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await work(next.value, either);
      } catch (error) {
        first ??= { error };
        failed.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: maxParallel }, worker));
  signal.throwIfAborted();
  if (first !== undefined) throw first.error;
}

/** RetryPolicy repeats work when the connection breaks or the server is busy. It says once that it waits, and once that it goes on. */
export class RetryPolicy {
  readonly #say: (line: string) => void;
  #waiting = false;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  async attempt<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      try {
        const result = await work();
        if (this.#waiting) this.#say("connected again");
        this.#waiting = false;
        return result;
      } catch (error) {
        const pauseMs = retryPausesMs[failures];
        if (signal.aborted || pauseMs === undefined || !isTemporary(error)) throw error;
        if (!this.#waiting) this.#say("the connection broke; trying again");
        this.#waiting = true;
        await pause(pauseMs * (0.75 + Math.random() / 2), signal);
        signal.throwIfAborted();
      }
    }
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof FileError ? temporaryStatuses.includes(error.status) : error instanceof Unreachable;
}
