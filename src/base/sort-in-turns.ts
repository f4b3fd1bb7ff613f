import { Pacer } from "./turns.ts";

/** Items that are sorted or merged at once, in about a tenth of a millisecond. */
const runLength = 256;

/**
 * `sortInTurns` sorts as `Array.sort` does, into a new array; while it sorts many items, others get the event loop. Runs are merged
 * from one array into another and back, so that sorting leaves little to the garbage collector, whose pauses everybody feels.
 */
export async function sortInTurns<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const pacer = new Pacer();
  let sorted = items.slice();
  let starts = await sortRuns(sorted, compare, pacer);
  let spare = starts.length > 1 ? items.slice() : [];
  while (starts.length > 1) {
    for (let run = 0; run < starts.length; run += 2)
      await merge(
        { from: sorted, to: spare },
        {
          start: starts[run] ?? 0,
          middle: starts[run + 1] ?? sorted.length,
          end: starts[run + 2] ?? sorted.length,
        },
        { compare, pacer },
      );
    starts = starts.filter((_, run) => run % 2 === 0);
    [sorted, spare] = [spare, sorted];
  }
  return sorted;
}

/** `byCodeUnits` compares texts as `sort` does without a comparison. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorts parts of an array in their place. Returns where they start; a part that goes on where the last one ended belongs to it. */
async function sortRuns<T>(items: T[], compare: (a: T, b: T) => number, pacer: Pacer): Promise<number[]> {
  const starts: number[] = [];
  for (let at = 0; at < items.length; at += runLength) {
    const run = items.slice(at, at + runLength).sort(compare);
    if (at === 0 || compare(items[at - 1] as T, run[0] as T) > 0) starts.push(at);
    for (let n = 0; n < run.length; n += 1) items[at + n] = run[n] as T;
    if (pacer.isDue) await pacer.nextTurn();
  }
  return starts;
}

/** Two runs that follow each other, the second from `middle` on. */
interface Neighbours {
  readonly start: number;
  readonly middle: number;
  readonly end: number;
}

async function merge<T>(
  { from, to }: { readonly from: readonly T[]; readonly to: T[] },
  { start, middle, end }: Neighbours,
  { compare, pacer }: { readonly compare: (a: T, b: T) => number; readonly pacer: Pacer },
): Promise<void> {
  let [left, right] = [start, middle];
  for (let at = start; at < end; at += 1) {
    const takesLeft = right === end || (left < middle && compare(from[left] as T, from[right] as T) <= 0);
    to[at] = from[takesLeft ? left++ : right++] as T;
    if (at % runLength === 0 && pacer.isDue) await pacer.nextTurn();
  }
}
