import type { Context } from "../context.ts";
import { ProgressLine } from "../terminal/progress.ts";
import { countText, numberText, sizeText, timeText } from "../terminal/quantities.ts";

/** Meter shows how far a transfer of files is. */
export interface Meter {
  /** Counts bytes that were transferred; negative, when a file has to be transferred again. */
  add(bytes: number): void;
  fileDone(): void;
  /** Writes a line of its own, above the bar. */
  say(line: string): void;
  end(): void;
}

export interface Load {
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
  const line = new ProgressLine(ctx, what);
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
      line.update(share(), state);
    },
    fileDone() {
      files += 1;
      line.update(share(), state);
    },
    say: (text) => line.say(text),
    end: () => line.end(share(), state),
  };
}
