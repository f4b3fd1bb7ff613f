/** How fast bytes have gone lately. */
export class Rate {
  readonly #steps: { readonly at: number; readonly bytes: number }[] = [];

  constructor(
    private readonly windowMs = 4000,
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(bytes: number): void {
    this.#steps.push({ at: this.now(), bytes });
    this.#forget();
  }

  perSecond(): number {
    this.#forget();
    const [first] = this.#steps;
    if (first === undefined) return 0;
    const bytes = this.#steps.reduce((sum, step) => sum + step.bytes, 0);
    // Of the first moments too little is known to tell a rate.
    return (1000 * bytes) / Math.max(this.now() - first.at, 500);
  }

  #forget(): void {
    const oldest = this.now() - this.windowMs;
    while ((this.#steps[0]?.at ?? oldest) < oldest) this.#steps.shift();
  }
}
