import type { Clock } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import type { Context, Output } from "../context.ts";
import { sizeText } from "./quantities.ts";

const redrawMs = 100;
/** A task that is done sooner shows no progress. */
const quietMs = 1000;
const barWidth = 25;

/** StatusLine shows on a terminal what a task of unknown length has done so far; elsewhere it shows nothing. */
export class StatusLine {
  readonly isTerminal: boolean;
  readonly #isQuiet: boolean;
  readonly #err: Output;
  readonly #clock: Clock;
  #drawn = "";
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor({ err, clock, isQuiet }: Context) {
    this.#err = err;
    this.#clock = clock;
    this.#isQuiet = isQuiet;
    this.isTerminal = err.isTTY === true && !isQuiet;
  }

  /** `text` is called only when something is shown. */
  update(text: () => string): void {
    if (this.isTerminal && this.#clock.monotonic() - this.#drawnAt >= redrawMs) this.draw(text());
  }

  draw(text: string): void {
    this.#drawnAt = this.#clock.monotonic();
    this.#drawn = `\r${visible(text).slice(0, Math.max(20, (this.#err.columns || 80) - 1))}\x1b[K`;
    this.#err.write(this.#drawn);
  }

  /** Writes a line of its own, above what is drawn. */
  say(text: string): void {
    if (this.#isQuiet) return;
    const line = visible(text);
    this.#err.write(this.isTerminal ? `\r\x1b[K${line}\n${this.#drawn}` : `${line}\n`);
  }

  /** Removes the line, so that others can be written. */
  clear(): void {
    if (this.#drawn !== "") this.#err.write("\r\x1b[K");
    this.#drawn = "";
  }
}

/** ProgressLine shows on standard error how far a task is: a bar on a terminal, elsewhere a line for every tenth. */
export class ProgressLine {
  readonly #what: string;
  readonly #startedAt: number;
  readonly #ctx: Context;
  readonly #line: StatusLine;
  #tenth = 0;

  constructor(ctx: Context, what: string) {
    this.#what = what;
    this.#ctx = ctx;
    this.#startedAt = ctx.clock.monotonic();
    this.#line = new StatusLine(ctx);
  }

  /** `share` is between 0 and 1. `state` is called only when something is shown. */
  update(share: number, state: () => string): void {
    if (this.#isQuiet) return;
    this.#line.update(() => this.#bar(share, state()));
    const tenth = Math.floor(share * 10);
    if (this.#line.isTerminal || tenth <= this.#tenth) return;
    this.#tenth = tenth;
    this.#line.say(`${this.#what}: ${tenth * 10} %, ${state()}`);
  }

  /** Writes a line of its own, above the bar. */
  say(text: string): void {
    this.#line.say(text);
  }

  end(share: number, state: () => string): void {
    if (this.#isQuiet) return;
    if (this.#line.isTerminal) {
      this.#line.draw(this.#bar(share, state()));
      this.#ctx.err.write("\n");
    } else this.update(share, state);
  }

  get #isQuiet(): boolean {
    return this.#ctx.isQuiet || this.#ctx.clock.monotonic() - this.#startedAt < quietMs;
  }

  #bar(share: number, state: string): string {
    const bar = "#".repeat(Math.floor(share * barWidth)).padEnd(barWidth);
    return `${this.#what} [${bar}] ${Math.floor(share * 100)} %  ${state}`;
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
