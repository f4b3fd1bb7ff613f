import type { Clock } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import type { Context, Output } from "../context.ts";
import { sizeText } from "./quantities.ts";

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

/** If the total is unknown, a line is shown each time this many bytes have arrived. */
const bytesPerLine = 5_000_000;

/** Shows the progress of a download; call the result with the bytes so far and, where it is known, the total. */
export function openProgress(ctx: Context, what: string): (bytes: number, total: number | undefined) => void {
  const line = new ProgressLine(ctx, what);
  let linesShown = 0;
  let done = false;
  return (bytes, total) => {
    if (done) return;
    if (total === undefined) {
      if (Math.floor(bytes / bytesPerLine) <= linesShown) return;
      linesShown = Math.floor(bytes / bytesPerLine);
      return line.say(`${what}: ${sizeText(bytes)}`);
    }
    done = bytes >= total;
    const state = () => `${sizeText(bytes)} of ${sizeText(total)}`;
    if (done) line.end(1, state);
    else line.update(bytes / total, state);
  };
}
