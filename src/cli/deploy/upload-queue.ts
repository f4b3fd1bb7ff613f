import { FileError, Unreachable } from "../../client/index.ts";

/** So many transfers at once: the server answers each when it is on the disk, and meanwhile the others travel. */
export const workers = 16;

/** Between the tries of one transfer: half a minute in all, in which a server restarts or a network comes back. */
const waitsMs = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000];

/** Works through all items, several at once. The first error ends it, once those under way have ended too. */
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
  await Promise.all(Array.from({ length: workers }, worker));
  signal.throwIfAborted();
  if (first !== undefined) throw first.error;
}

/** Tries again when the connection breaks or the server has no time; tells when it waits and when it goes on. */
export class Patience {
  #waiting = false;

  constructor(private readonly say: (line: string) => void) {}

  async attempt<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        const result = await work();
        if (this.#waiting) this.say("connected again; going on");
        this.#waiting = false;
        return result;
      } catch (error) {
        const wait = waitsMs[tries];
        if (signal.aborted || wait === undefined || !passes(error)) throw error;
        if (!this.#waiting) this.say("the connection broke; trying again");
        this.#waiting = true;
        await pause(wait * (0.75 + Math.random() / 2), signal);
        signal.throwIfAborted();
      }
    }
  }
}

function passes(error: unknown): boolean {
  if (error instanceof FileError) return [408, 429, 500, 502, 503, 504].includes(error.status);
  return error instanceof Unreachable;
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
