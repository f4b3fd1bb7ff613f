import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import { countText, numberText, sizeText, timeText } from "./quantities.ts";

const redrawMs = 100;
/** A task whose end is known and that is done sooner shows no progress. */
const quietMs = 1000;
const barWidth = 25;

/**
 * Progress shows on standard error how far a task is: on a terminal a line that is drawn again and again, with a bar if the end is
 * known, elsewhere a line for every tenth.
 */
export class Progress {
  readonly #ctx: Context;
  readonly #what: string;
  readonly #startedAt: number;
  readonly #isDrawn: boolean;
  #drawn = "";
  #drawnAt = Number.NEGATIVE_INFINITY;
  #tenth = 0;

  constructor(ctx: Context, what: string) {
    this.#ctx = ctx;
    this.#what = what;
    this.#startedAt = ctx.clock.monotonic();
    this.#isDrawn = ctx.err.isTTY === true && !ctx.isQuiet;
  }

  /** `state` is called only when something is shown. `share` is between 0 and 1, and undefined if the end is not known. */
  update(state: () => string, share?: number): void {
    if (share !== undefined && this.#isShort) return;
    const tenth = Math.floor((share ?? 0) * 10);
    if (this.#isDrawn) {
      if (this.#ctx.clock.monotonic() - this.#drawnAt >= redrawMs) this.#draw(state(), share);
    } else if (tenth > this.#tenth) {
      this.#tenth = tenth;
      this.say(`${this.#what}: ${tenth * 10} %, ${state()}`);
    }
  }

  /** Writes a line of its own, above what is drawn. */
  say(text: string): void {
    if (this.#isDrawn) this.#ctx.err.write("\r\x1b[K");
    this.#ctx.say(visible(text));
    if (this.#isDrawn) this.#ctx.err.write(this.#drawn);
  }

  /** Leaves the last state on the screen. */
  end(state: () => string, share: number): void {
    if (!this.#isDrawn) this.update(state, share);
    else if (!this.#isShort) {
      this.#draw(state(), share);
      this.#ctx.err.write("\n");
    }
  }

  /** Removes the line, so that others can be written. */
  clear(): void {
    if (this.#drawn !== "") this.#ctx.err.write("\r\x1b[K");
    this.#drawn = "";
  }

  get #isShort(): boolean {
    return this.#ctx.clock.monotonic() - this.#startedAt < quietMs;
  }

  #draw(state: string, share: number | undefined): void {
    const { clock, err } = this.#ctx;
    const bar = share === undefined ? "" : "#".repeat(Math.floor(share * barWidth)).padEnd(barWidth);
    const text =
      share === undefined
        ? `${this.#what}: ${state}`
        : `${this.#what} [${bar}] ${Math.floor(share * 100)} %  ${state}`;
    this.#drawnAt = clock.monotonic();
    this.#drawn = `\r${visible(text).slice(0, Math.max(20, (err.columns || 80) - 1))}\x1b[K`;
    err.write(this.#drawn);
  }
}

/** If the total is unknown, a line is shown each time this many bytes have arrived. */
const bytesPerLine = 5_000_000;

/** Shows the progress of a download or of reading a file; call the result with the bytes so far and, where it is known, the total. */
export function openProgress(ctx: Context, what: string): (bytes: number, total: number | undefined) => void {
  const line = new Progress(ctx, what);
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
    if (done) line.end(state, 1);
    else line.update(state, bytes / total);
  };
}

/** Meter shows how far a transfer of files is. */
export interface Meter {
  /** Counts bytes that were transferred; negative, when a file has to be transferred again. */
  add(bytes: number): void;
  fileDone(): void;
  /** Writes a line of its own, above the bar. */
  say(line: string): void;
  end(): void;
}

interface Load {
  readonly bytes: number;
  readonly files: number;
}

/** The cost of a file besides its bytes, so that the estimate holds for many small files. */
const bytesPerFile = 4000;

/** Opens a meter; with `showsRate` it also says how many bytes a second are transferred. */
export function openMeter(
  ctx: Context,
  what: string,
  { bytes: allBytes, files: allFiles }: Load,
  { showsRate } = { showsRate: false },
): Meter {
  const line = new Progress(ctx, what);
  const { clock } = ctx;
  const begin = clock.monotonic();
  const allWork = allBytes + allFiles * bytesPerFile;
  let bytes = 0;
  let files = 0;
  /** The share of the bytes, or of the files when all of them are empty; below 1 until the last file is done. */
  const share = () => {
    const part = allBytes > 0 ? bytes / allBytes : allFiles > 0 ? files / allFiles : 1;
    return Math.max(0, Math.min(part, files < allFiles ? 0.99 : 1));
  };
  const timeLeft = () => {
    const work = allWork === 0 ? 1 : Math.min(1, (bytes + files * bytesPerFile) / allWork);
    const seconds = (clock.monotonic() - begin) / 1000;
    return work === 0 || share() === 1 ? "" : `, ${timeText(seconds / work - seconds)} left`;
  };
  const rate = () =>
    `, ${sizeText(Math.round(bytes / Math.max(0.001, (clock.monotonic() - begin) / 1000)))}/s`;
  const counts = () => `, ${numberText(files)} of ${countText(allFiles, "file")}`;
  // What a narrow terminal cuts off is the least important.
  const state = () =>
    `${sizeText(bytes)} of ${sizeText(allBytes)}${showsRate ? rate() + timeLeft() + counts() : counts() + timeLeft()}`;
  return {
    add(more) {
      bytes += more;
      line.update(state, share());
    },
    fileDone() {
      files += 1;
      line.update(state, share());
    },
    say: (text) => line.say(text),
    end: () => line.end(state, share()),
  };
}
