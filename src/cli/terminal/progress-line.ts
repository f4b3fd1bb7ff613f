import type { Clock } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import type { Context, Output } from "../context.ts";

const redrawMs = 100;
/** A task that is done sooner shows no progress. */
const quietMs = 1000;
const barWidth = 25;

/** ProgressLine shows on standard error how far a task is: a bar on a terminal, elsewhere a line for every tenth. */
export class ProgressLine {
  readonly #what: string;
  readonly #err: Output;
  readonly #isTerminal: boolean;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #drawn = "";
  #drawnAt = Number.NEGATIVE_INFINITY;
  #tenth = 0;

  constructor({ err, clock }: Context, what: string) {
    this.#what = what;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#err = err;
    this.#isTerminal = err.isTTY === true;
  }

  /** `share` is between 0 and 1. `state` is called only when something is shown. */
  update(share: number, state: () => string): void {
    if (this.#isQuiet) return;
    if (this.#isTerminal) {
      if (this.#clock.monotonic() - this.#drawnAt >= redrawMs) this.#draw(share, state());
      return;
    }
    const tenth = Math.floor(share * 10);
    if (tenth <= this.#tenth) return;
    this.#tenth = tenth;
    this.#err.write(`${visible(`${this.#what}: ${tenth * 10} %, ${state()}`)}\n`);
  }

  /** Writes a line of its own, above the bar. */
  say(text: string): void {
    const line = visible(text);
    this.#err.write(this.#isTerminal ? `\r\x1b[K${line}\n${this.#drawn}` : `${line}\n`);
  }

  end(share: number, state: () => string): void {
    if (this.#isQuiet) return;
    if (this.#isTerminal) {
      this.#draw(share, state());
      this.#err.write("\n");
    } else this.update(share, state);
  }

  get #isQuiet(): boolean {
    return this.#clock.monotonic() - this.#startedAt < quietMs;
  }

  #draw(share: number, state: string): void {
    this.#drawnAt = this.#clock.monotonic();
    const bar = "#".repeat(Math.floor(share * barWidth)).padEnd(barWidth);
    const line = visible(`${this.#what} [${bar}] ${Math.floor(share * 100)} %  ${state}`);
    this.#drawn = `\r${line.slice(0, Math.max(20, (this.#err.columns || 80) - 1))}\x1b[K`;
    this.#err.write(this.#drawn);
  }
}
