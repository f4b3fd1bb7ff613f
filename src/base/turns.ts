/** QueuedWork is long work that is done in small pieces. */
interface QueuedWork {
  /** Does a small piece. Returns false when nothing is left for now. */
  work(): boolean;
}

/** The number of queued works that do a piece in one turn of the event loop. */
const maxPiecesPerTurn = 8;

/** Turns shares the event loop between clients: long work is done in pieces, and new requests are handled between them. */
export class Turns {
  readonly #waiting = new Set<QueuedWork>();
  /** Callers of `pause`, by lane (such as a connection). Lanes are served round-robin. */
  readonly #paused = new Map<object, Array<() => void>>();
  #number = 0;
  #isArmed = false;

  /** The number of the present turn of the event loop. */
  get current(): number {
    this.#arm();
    return this.#number;
  }

  /** The number of the last turn in which anything was asked of this object; costs less than `current`. */
  get last(): number {
    return this.#number;
  }

  /** True if more works are queued than get a piece in one turn. */
  get isCrowded(): boolean {
    return this.#waiting.size >= maxPiecesPerTurn;
  }

  /** Runs `queued` in the coming turns until it has nothing left. */
  add(queued: QueuedWork): void {
    this.#waiting.add(queued);
    this.#arm();
  }

  /** Resolves when the caller may continue. One caller continues per turn of the event loop, round-robin by lane. */
  pause(lane: object): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#paused.get(lane);
      if (queue === undefined) this.#paused.set(lane, [resolve]);
      else queue.push(resolve);
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isArmed = false;
    this.#number += 1;
    for (const queued of [...this.#waiting].slice(0, maxPiecesPerTurn)) {
      // A work that did a piece goes behind the others.
      this.#waiting.delete(queued);
      if (queued.work()) this.#waiting.add(queued);
    }
    this.#letGo();
    if (this.#waiting.size > 0 || this.#paused.size > 0) this.#arm();
  }

  #letGo(): void {
    const first = this.#paused.entries().next().value;
    if (first === undefined) return;
    const [lane, queue] = first;
    const go = queue.shift();
    this.#paused.delete(lane);
    if (queue.length > 0) this.#paused.set(lane, queue);
    go?.();
  }
}

/** `nextTurn` lets the event loop handle everything that waits before the caller continues. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Time of work after which others get the event loop. */
const maxWorkMs = 0.5;

/** Pacer keeps a long loop from holding the event loop: between two steps it asks `isDue`, and waits for `nextTurn` if so. */
export class Pacer {
  #startedAt = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#startedAt > maxWorkMs;
  }

  async nextTurn(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}

/**
 * PerTick computes a value at most once in a tick of the event loop, for all requests that arrive in it. The event loop reads a
 * connection once a tick, and only if it had bytes when the tick began, so none of these requests was sent by somebody who knew of a
 * change, outside of this process, after the value was computed. There are two exceptions, both as short as a tick: Bun reads a new
 * connection when it accepts it, and a value that work of an immediate asked for serves the tick that follows.
 */
export class PerTick<T> {
  readonly #compute: () => T;
  #known: { readonly value: T } | undefined;

  constructor(compute: () => T) {
    this.#compute = compute;
  }

  get(): T {
    if (this.#known !== undefined) return this.#known.value;
    const value = this.#compute();
    this.#known = { value };
    // An immediate runs after the connections of this tick were read, and before those of the next.
    setImmediate(() => this.forget());
    return value;
  }

  /** To be called when this process may have changed the value. */
  forget(): void {
    this.#known = undefined;
  }
}

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

/** `byCodePoints` compares texts as their bytes in UTF-8 are compared. */
export function byCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Halves of surrogate pairs are of characters that are behind all others. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
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
