import type { Clock } from "./clock.ts";
import { outsideOfCalls } from "./task.ts";

interface WatchOptions<P> {
  readonly clock: Clock;
  /** The interval of `check`, which tells the watch what it finds. */
  readonly everyMs: number;
  readonly check: () => unknown;
  /** Called once for each loss, with the first problem. */
  readonly lost: (problem: P) => void;
  /** Called once for each return. */
  readonly restored: (lostMs: number) => void;
}

/**
 * Watch knows whether something outside of the server can be used, by checks and by the outcome of real work. It reports a loss and a
 * return once each, however often they are found, and as part of no call: a quiet call must not suppress the line.
 */
export class Watch<P> {
  readonly #options: WatchOptions<P>;
  readonly #timer: Disposable;
  #problem: P | undefined;
  #lostAt = 0;
  #losses = 0;
  #isClosed = false;

  constructor(options: WatchOptions<P>) {
    this.#options = options;
    this.#timer = outsideOfCalls(() => options.clock.every(options.everyMs, () => options.check()));
  }

  /** What was found last; undefined if it can be used. */
  get problem(): P | undefined {
    return this.#problem;
  }

  get isLost(): boolean {
    return this.#problem !== undefined;
  }

  /** How often it was lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Takes what was found: undefined if it can be used. */
  conclude(problem: P | undefined): void {
    if (this.#isClosed) return;
    const { clock, lost, restored } = this.#options;
    const wasLost = this.isLost;
    this.#problem = problem;
    if (problem !== undefined && !wasLost) {
      this.#lostAt = clock.monotonic();
      this.#losses += 1;
      outsideOfCalls(() => lost(problem));
    }
    if (problem === undefined && wasLost)
      outsideOfCalls(() => restored(Math.round(clock.monotonic() - this.#lostAt)));
  }

  /** Ends the checks. Nothing is concluded any more. */
  close(): void {
    this.#isClosed = true;
    this.#timer[Symbol.dispose]();
  }
}
