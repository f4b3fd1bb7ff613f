import { atMost, type Clock } from "../../base/clock.ts";
import { outsideSpans } from "../../log/span.ts";

/** The time that work has to end when the server stops. A store that does not answer must not hold it up. */
const maxCloseMs = 2000;

/** RecurringTask does work in the background, again and again, with a pause in between. */
export class RecurringTask {
  readonly #work: () => Promise<number>;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #timer: Disposable | undefined;
  #running: Promise<void> | undefined;

  /** The work never throws, and returns after how many milliseconds it is due again. */
  constructor(work: () => Promise<number>, clock: Clock) {
    this.#work = work;
    this.#clock = clock;
  }

  /** Aborted when the task is closed: work that takes long ends at the next good point. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  start(firstWaitMs: number): void {
    this.#wait(firstWaitMs);
  }

  async close(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#stop.abort();
    if (this.#running !== undefined) await atMost(this.#running, { ms: maxCloseMs });
  }

  #wait(ms: number): void {
    if (this.#stop.signal.aborted) return;
    this.#timer = outsideSpans(() =>
      this.#clock.after(ms, () => {
        this.#running = this.#work().then((nextMs) => this.#wait(nextMs));
      }),
    );
  }
}
