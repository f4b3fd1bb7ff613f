import { visible } from "../../base/visible-text.ts";
import type { Context, Output } from "../context.ts";

const redrawMs = 100;

/** StatusLine shows on a terminal what a task of unknown length has done so far; elsewhere it shows nothing. */
export class StatusLine {
  readonly #err: Output;
  readonly #isTerminal: boolean;
  #drawnAt = 0;

  constructor({ err }: Context) {
    this.#err = err;
    this.#isTerminal = err.isTTY === true;
  }

  /** `text` is called only when something is shown. */
  update(text: () => string): void {
    if (!this.#isTerminal || performance.now() - this.#drawnAt < redrawMs) return;
    this.#drawnAt = performance.now();
    this.#err.write(`\r${visible(text()).slice(0, Math.max(20, (this.#err.columns || 80) - 1))}\x1b[K`);
  }

  /** Removes the line, so that others can be written. */
  clear(): void {
    if (this.#isTerminal && this.#drawnAt > 0) this.#err.write("\r\x1b[K");
  }
}
