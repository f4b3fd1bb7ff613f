import type { Context } from "../context.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { sizeText } from "../terminal/quantities.ts";

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
