/** A shorter time than this says nothing about a rate. */
const minMs = 250;

/** How fast bytes have gone lately: in the last seconds, and never from before the last `restart`. */
export class Rate {
  #steps: { readonly at: number; readonly bytes: number }[] = [];
  #start: number;

  constructor(
    private readonly windowMs = 4000,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#start = now();
  }

  /** Begins to measure anew: nothing was on its way before. */
  restart(): void {
    this.#steps = [];
    this.#start = this.now();
  }

  add(bytes: number): void {
    this.#steps.push({ at: this.now(), bytes });
    this.#forget();
  }

  /** In bytes a second; 0 while too little is known. */
  perSecond(): number {
    this.#forget();
    const measuredMs = Math.min(this.now() - this.#start, this.windowMs);
    if (measuredMs < minMs) return 0;
    return (1000 * this.#steps.reduce((sum, step) => sum + step.bytes, 0)) / measuredMs;
  }

  #forget(): void {
    const oldest = this.now() - this.windowMs;
    while ((this.#steps[0]?.at ?? oldest) < oldest) this.#steps.shift();
  }
}
