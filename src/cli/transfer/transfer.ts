import type { Clock } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import { type BucketFiles, FileError } from "../../client/index.ts";
import { isTemporary, pauseAfter } from "../../client/retry.ts";
import type { Meter } from "./meter.ts";

/** Transfers at once. The server answers each when it is on the disk; meanwhile the others travel. */
const maxParallel = 16;

/** Pauses between the attempts of one transfer: half a minute in all, enough for a restart of the server or a short loss of the network. */
const retryPausesMs = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000];

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
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  /** The message to print when the next attempt succeeds; undefined unless it waits. */
  #restored: string | undefined;

  constructor({ clock, say }: { readonly clock: Clock; readonly say: (line: string) => void }) {
    this.#clock = clock;
    this.#say = say;
  }

  async attempt<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      try {
        const result = await work();
        if (this.#restored !== undefined) this.#say(this.#restored);
        this.#restored = undefined;
        return result;
      } catch (error) {
        const plannedMs = retryPausesMs[failures];
        if (signal.aborted || plannedMs === undefined || !isTemporary(error)) throw error;
        const pauseMs = pauseAfter(error, plannedMs * (0.75 + Math.random() / 2));
        if (pauseMs === undefined) throw error;
        if (this.#restored === undefined) this.#say(`${problemOf(error)}; trying again`);
        this.#restored ??= error instanceof FileError ? "the server works again" : "connected again";
        await this.#clock.sleep(pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }
}

/** isContentLost returns whether the server's store has lost the content of a file: only another upload, or a backup, brings it back. */
export function isContentLost(error: unknown): error is FileError {
  return error instanceof FileError && error.reason === "blob_missing";
}

/** What happened: a server that answered with an error is not one whose connection broke. */
function problemOf(error: unknown): string {
  if (!(error instanceof FileError)) return "the connection broke";
  return `the server answered ${error.status} for ${visible(error.message.replace(/\.$/, ""))}`;
}
