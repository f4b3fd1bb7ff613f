import { AsyncLocalStorage } from "node:async_hooks";
import { atMost, type Clock } from "./clock.ts";

/** The time that a run has to end when its task is closed. A database or a disk that does not answer must not hold up a stop. */
const defaultCloseMs = 2000;

/** TaskLease makes one of several servers do a task. */
export interface TaskLease {
  /** Takes the lease if the task is due. Resolves to 0 if the caller has it now, else to the milliseconds after which to ask again. */
  acquire(): Promise<number>;
  /** Prolongs the lease. Resolves to false if another server has it. */
  renew(): Promise<boolean>;
  /** Ends the lease. `isDone` is whether the task was done to its end. */
  release(outcome: { readonly isDone: boolean }): Promise<void>;
  readonly renewEveryMs: number;
  /** Makes the reason with which a run is aborted that has lost its lease. */
  lost(): Error;
}

interface TaskOptions {
  readonly clock: Clock;
  /** The time between the beginnings of two runs; without it, a run begins only after `dueIn`, or when the last one asked for it. */
  readonly everyMs?: number;
  /** The pause before the first run; without it, `everyMs`. With 0 it begins before `start` returns. */
  readonly firstMs?: number;
  /**
   * Does the work, and ends soon after `signal` fires. It may return after how many milliseconds it is due again, if that is sooner than
   * `everyMs`.
   */
  readonly run: (signal: AbortSignal) => unknown;
  /**
   * Called once for each run that failed, unless the task was closed. It may return a time as `run` does. Without it a failure is a bug,
   * and reported as one.
   */
  readonly failed?: (error: unknown) => unknown;
  readonly lease?: TaskLease;
  /** How long `close` waits for a run. */
  readonly closeMs?: number;
}

/** The context of no call: what a task does must not be told as part of the call that began it. */
const outsideOfCalls = AsyncLocalStorage.snapshot();

/**
 * Task does work in the background, again and again, one run at a time. A run that fails does not keep the next one from beginning. If a
 * run takes longer than `everyMs`, those that would have begun meanwhile are left out.
 */
export class Task {
  readonly #options: TaskOptions;
  readonly #stop = new AbortController();
  /** When the next run begins, by a clock that nobody sets; infinite if none is due. */
  #dueAt = Number.POSITIVE_INFINITY;
  #timer: Disposable | undefined;
  #running: Promise<void> | undefined;

  constructor(options: TaskOptions) {
    this.#options = options;
  }

  /** Makes the first run due. Returns the task. */
  start(): this {
    const { everyMs, firstMs = everyMs } = this.#options;
    if (firstMs !== undefined) this.dueIn(firstMs);
    return this;
  }

  /** Makes the next run begin in `ms` at the latest; with 0 at once, or right after the run under way. */
  dueIn(ms: number): void {
    const at = this.#now + ms;
    if (this.#stop.signal.aborted || at >= this.#dueAt) return;
    this.#dueAt = at;
    if (this.#running === undefined) this.#arm();
  }

  /** Resolves when no run is under way. Never rejects. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Ends the task: no run begins any more, and one under way is told to end and waited for, but not for long. Never rejects. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.[Symbol.dispose]();
    if (this.#running !== undefined)
      await atMost(this.#running, { ms: this.#options.closeMs ?? defaultCloseMs });
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #arm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#dueAt === Number.POSITIVE_INFINITY) return;
    const pauseMs = this.#dueAt - this.#now;
    outsideOfCalls(() => {
      if (pauseMs <= 0) this.#begin();
      else this.#timer = this.#options.clock.after(pauseMs, () => this.#begin());
    });
  }

  #begin(): void {
    const dueAt = this.#dueAt;
    this.#timer = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#running = this.#runAndPlan(dueAt);
  }

  async #runAndPlan(begunAt: number): Promise<void> {
    let againMs: unknown;
    try {
      againMs = await this.#run();
    } catch (error) {
      if (!this.#stop.signal.aborted) againMs = (this.#options.failed ?? unexpected)(error);
    }
    this.#running = undefined;
    if (this.#stop.signal.aborted) return;
    const { everyMs } = this.#options;
    if (everyMs !== undefined) {
      const lateMs = Math.max(0, this.#now - begunAt);
      this.#dueAt = Math.min(this.#dueAt, this.#now + everyMs - (lateMs % everyMs));
    }
    if (typeof againMs === "number") this.#dueAt = Math.min(this.#dueAt, this.#now + againMs);
    this.#arm();
  }

  async #run(): Promise<unknown> {
    const { run, lease } = this.#options;
    return lease === undefined ? await run(this.#stop.signal) : await this.#runWith(lease);
  }

  async #runWith(lease: TaskLease): Promise<unknown> {
    const waitMs = await lease.acquire();
    if (waitMs > 0) return waitMs;
    const lost = new AbortController();
    const renewal = new Task({
      clock: this.#options.clock,
      everyMs: lease.renewEveryMs,
      async run() {
        if (!(await lease.renew())) throw lease.lost();
      },
      failed: (error) => lost.abort(error),
    }).start();
    let isDone = false;
    try {
      const againMs = await this.#options.run(AbortSignal.any([lost.signal, this.#stop.signal]));
      isDone = true;
      return againMs;
    } finally {
      await renewal.close();
      await lease.release({ isDone });
    }
  }
}

function unexpected(error: unknown): void {
  void Promise.reject(error);
}

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
