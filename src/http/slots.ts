/** So many at once, and the next one is turned away rather than kept waiting. */
export class Slots {
  #used = 0;

  constructor(private readonly limit: () => number) {}

  take(): boolean {
    if (this.#used >= this.limit()) return false;
    this.#used += 1;
    return true;
  }

  give(): void {
    this.#used -= 1;
  }
}
