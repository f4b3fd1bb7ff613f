import { atMost, type Clock } from "../base/clock.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import type { DiskSpace, StoreHealth } from "./ports.ts";

/** StoreProblem says why a store cannot be used. */
export interface StoreProblem {
  readonly reason: string;
  /** Whether all its files look deleted. */
  readonly isMissing: boolean;
  /** Whether it does not answer at all, so that nothing need be tried. */
  readonly isAway?: boolean;
}

export interface StoreWatchOptions {
  /** What is looked at, for log lines, for instance "the folder of the buckets". */
  readonly what: string;
  /** Its address, for log lines. */
  readonly where: { readonly static_path: string } | { readonly url: string };
  /** Returns undefined if the store can be used. Must not reject. */
  readonly examine: () => Promise<StoreProblem | undefined>;
  /** The interval of the looks. */
  readonly intervalMs: number;
  /** A store that does not answer for this long is lost. */
  readonly maxLookMs: number;
  /** What to report then. */
  readonly lateReason: string;
  readonly space?: () => DiskSpace | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** StoreWatch looks at a store regularly and when it is asked to. A loss and a return are one log line each. */
export class StoreWatch implements StoreHealth {
  readonly #options: StoreWatchOptions;
  readonly #timer: Disposable;
  #looking: Promise<void> | undefined;
  #problem: StoreProblem | undefined;
  #lostAt = 0;
  #losses = 0;
  #closed = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    this.#timer = outsideSpans(() => options.clock.every(options.intervalMs, () => this.look()));
  }

  get losses(): number {
    return this.#losses;
  }

  get isLost(): boolean {
    return this.#problem !== undefined;
  }

  get isMissing(): boolean {
    return this.#problem?.isMissing ?? false;
  }

  get isAway(): boolean {
    return this.#problem?.isAway ?? false;
  }

  get space(): DiskSpace | undefined {
    return this.#options.space?.();
  }

  async look(): Promise<void> {
    const looking = this.#looking ?? this.#start();
    const outcome = await atMost(looking, { ms: this.#options.maxLookMs, late: "late" as const });
    if (outcome === "late" && this.#looking === looking)
      this.#conclude({ reason: this.#options.lateReason, isMissing: false, isAway: true });
  }

  close(): void {
    this.#closed = true;
    this.#timer[Symbol.dispose]();
  }

  #start(): Promise<void> {
    this.#looking = this.#options.examine().then((problem) => {
      this.#looking = undefined;
      this.#conclude(problem);
    });
    return this.#looking;
  }

  #conclude(problem: StoreProblem | undefined): void {
    if (this.#closed) return;
    const { what, where, log, clock } = this.#options;
    const wasLost = this.isLost;
    this.#problem = problem;
    if (problem !== undefined && !wasLost) {
      this.#lostAt = clock.monotonic();
      this.#losses += 1;
      outsideSpans(() =>
        log.event("store.lost", `${what} cannot be used; requests for files may fail`, {
          ...where,
          reason: problem.reason,
        }),
      );
    }
    if (problem === undefined && wasLost)
      outsideSpans(() =>
        log.event("store.restored", `${what} can be used again`, {
          ...where,
          lost_ms: Math.round(clock.monotonic() - this.#lostAt),
        }),
      );
  }
}
