const redrawMs = 100;

/** StatusLine shows on a terminal what a task of unknown length has done so far; elsewhere it shows nothing. */
export class StatusLine {
  readonly #isTerminal = process.stderr.isTTY === true;
  #drawnAt = 0;

  /** `text` is called only when something is shown. */
  update(text: () => string): void {
    if (!this.#isTerminal || performance.now() - this.#drawnAt < redrawMs) return;
    this.#drawnAt = performance.now();
    process.stderr.write(`\r${text().slice(0, Math.max(20, (process.stderr.columns || 80) - 1))}\x1b[K`);
  }

  /** Removes the line, so that others can be written. */
  clear(): void {
    if (this.#isTerminal && this.#drawnAt > 0) process.stderr.write("\r\x1b[K");
  }
}
