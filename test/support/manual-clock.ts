import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../src/base/clock.ts";
import { until } from "./until.ts";

interface ManualTimer {
  /** In the time of `monotonic`. */
  at: number;
  readonly everyMs: number | undefined;
  readonly run: () => unknown;
  /** The system's timer, while the clock runs by itself. */
  real?: NodeJS.Timeout;
}

/**
 * ManualClock is a clock that stands still until a story turns it. It begins at the time of the machine, so that the times of files and of
 * the database fit. What a timer begins on a real disk or database takes real time, so a story turns the clock and then waits with `until`,
 * or turns it `until` a condition holds.
 */
export class ManualClock implements Clock {
  readonly #timers = new Set<ManualTimer>();
  #monotonic = Math.ceil(performance.now());
  /** The wall time less the monotonic time. */
  #offset = Date.now() - this.#monotonic;
  /** When it began to run by itself, in the system's time; undefined while it stands. */
  #ranAt: number | undefined;
  #runs = 0;

  now(): number {
    return Math.floor(this.monotonic() + this.#offset);
  }

  monotonic(): number {
    return this.#monotonic + (this.#ranAt === undefined ? 0 : performance.now() - this.#ranAt);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal?.aborted) resolve();
    const timer = this.after(ms, resolve);
    signal?.addEventListener("abort", () => {
      timer[Symbol.dispose]();
      resolve();
    });
    return promise;
  }

  after(ms: number, run: () => unknown): Disposable {
    return this.#add({ at: this.monotonic() + Math.max(0, ms), everyMs: undefined, run: inContext(run) });
  }

  every(ms: number, run: () => unknown): Disposable {
    return this.#add({ at: this.monotonic() + ms, everyMs: ms, run: inContext(run) });
  }

  /** Turns the clock by `ms`: every timer that falls due runs at its time, in order, and may set others. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settled();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#monotonic = Math.max(this.#monotonic, timer.at);
      this.#fire(timer);
      await settled();
    }
    this.#monotonic = Math.max(this.#monotonic, end);
  }

  /** Turns the clock by `ms` at once, as a machine does that was suspended: every timer that is due then runs once. */
  async jump(ms: number): Promise<void> {
    this.#monotonic += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.#monotonic).sort((a, b) => a.at - b.at);
    for (const timer of due) if (this.#timers.has(timer)) this.#fire(timer);
    await settled();
  }

  /** Turns the clock by `stepMs` again and again until `condition` holds, and gives real work a moment after each step. */
  async until(what: string, stepMs: number, condition: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, async () => {
      if (await condition()) return true;
      await this.advance(stepMs);
      return false;
    });
  }

  /** Turns the clock by `stepMs` again and again until `work` has ended, and resolves to its value. */
  async settle<T>(work: Promise<T>, stepMs: number): Promise<T> {
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    work.then(end, end);
    await this.until("the work has ended", stepMs, () => hasEnded);
    return work;
  }

  /** Sets the wall time, as an operator does; `monotonic` and timers do not notice. */
  set(wallMs: number): void {
    this.#offset = wallMs - this.monotonic();
  }

  /** Lets the clock run with the time of the machine until the result is disposed: a server that closes must not wait for a story. */
  run(): Disposable {
    this.#runs += 1;
    if (this.#runs === 1) {
      this.#ranAt = performance.now();
      for (const timer of this.#timers) this.#arm(timer);
    }
    return {
      [Symbol.dispose]: () => {
        this.#runs -= 1;
        if (this.#runs > 0) return;
        this.#monotonic = this.monotonic();
        this.#ranAt = undefined;
        for (const timer of this.#timers) clearTimeout(timer.real);
      },
    };
  }

  #add(timer: ManualTimer): Disposable {
    this.#timers.add(timer);
    if (this.#ranAt !== undefined) this.#arm(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers.delete(timer);
        clearTimeout(timer.real);
      },
    };
  }

  #arm(timer: ManualTimer): void {
    timer.real = setTimeout(
      () => {
        this.#fire(timer);
        if (this.#timers.has(timer) && this.#ranAt !== undefined) this.#arm(timer);
      },
      Math.max(0, timer.at - this.monotonic()),
    );
  }

  #fire(timer: ManualTimer): void {
    if (timer.everyMs === undefined) this.#timers.delete(timer);
    else timer.at = this.monotonic() + timer.everyMs;
    timer.run();
  }

  #next(end: number): ManualTimer | undefined {
    let next: ManualTimer | undefined;
    for (const timer of this.#timers)
      if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }
}

/** A timer runs in the span in which it was set, as the timers of the system do. */
function inContext(run: () => unknown): () => unknown {
  const inside = AsyncLocalStorage.snapshot();
  return () => inside(run);
}

/** Gives promises, and work that takes a few turns of the event loop, the time to end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
