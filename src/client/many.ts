import type { ResultOf } from "./client.ts";
import type { FailedPath, VersionName } from "./methods.ts";

type DeleteAnswer = ResultOf<"static-bucket-file_delete_many">;
type ManyAnswer = Omit<DeleteAnswer, "versions"> & { readonly versions?: readonly VersionName[] };

/** ManyDone is what calls about many paths have done. */
export interface ManyDone {
  done: number;
  readonly failed: FailedPath[];
  /** By which what was deleted can be restored. */
  readonly versions: VersionName[];
  /** How many were not begun: the signal fired, or a call failed. */
  left: number;
  /** Why a call failed after others; what it did is not known. */
  error?: unknown;
}

export interface ManyOptions {
  /** Ends the work before the next call, so that the count of what was done is exact. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each call, with how many were handled. */
  readonly onProgress?: ((handled: number) => void) | undefined;
  /** Items of one call; fewer make the progress smoother. Default: 500. */
  readonly perCall?: number;
}

/** changeMany gives any number of items to calls about many, one after the other. It throws only if the first call fails. */
export async function changeMany<I>(
  items: readonly I[],
  call: (items: I[]) => Promise<ManyAnswer>,
  { signal, onProgress, perCall = 500 }: ManyOptions = {},
): Promise<ManyDone> {
  const all: ManyDone = { done: 0, failed: [], versions: [], left: items.length };
  while (all.left > 0 && !signal?.aborted) {
    const at = items.length - all.left;
    try {
      const { handled, done, failed, versions = [] } = await call(items.slice(at, at + perCall));
      all.done += done;
      all.failed.push(...failed);
      all.versions.push(...versions);
      all.left -= handled;
    } catch (error) {
      if (at === 0) throw error;
      all.error = error;
      break;
    }
    onProgress?.(items.length - all.left);
  }
  return all;
}
