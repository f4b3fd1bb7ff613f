import { countText, numberText, sizeText, timeText } from "../terminal/sizes.ts";

/** How far a transfer is, on standard error: a bar on a terminal, a line for every tenth elsewhere. */
export interface Meter {
  /** So many bytes more have gone; fewer, when a file has to be sent again. */
  add(bytes: number): void;
  fileDone(): void;
  /** A line of its own, above the bar. */
  say(line: string): void;
  end(): void;
}

export interface Load {
  readonly bytes: number;
  readonly files: number;
}

/** The work of a file besides its bytes, so that the time left is right for many small ones. */
const bytesPerFile = 4000;
const redrawMs = 100;
const barWidth = 25;

export function openMeter(what: string, { bytes: allBytes, files: allFiles }: Load): Meter {
  const terminal = process.stderr.isTTY === true;
  const begin = performance.now();
  const all = allBytes + allFiles * bytesPerFile;
  let bytes = 0;
  let files = 0;
  let drawnAt = 0;
  let tenth = 0;
  const write = (text: string) => void process.stderr.write(text);
  const work = () => (all === 0 ? 1 : Math.min(1, (bytes + files * bytesPerFile) / all));
  /** The share of the bytes, or of the files when all of them are empty; below 1 until the last file is done. */
  const share = () => {
    const part = allBytes > 0 ? bytes / allBytes : allFiles > 0 ? files / allFiles : 1;
    return Math.max(0, Math.min(part, files < allFiles ? 0.99 : 1));
  };
  const state = () => {
    const seconds = (performance.now() - begin) / 1000;
    const left = work() === 0 ? "" : `, ${timeText(seconds / work() - seconds)} left`;
    const sizes = `${sizeText(bytes)} of ${sizeText(allBytes)}`;
    return `${sizes}, ${numberText(files)} of ${countText(allFiles, "file")}${share() === 1 ? "" : left}`;
  };
  const draw = () => {
    drawnAt = performance.now();
    const bar = "#".repeat(Math.floor(share() * barWidth)).padEnd(barWidth);
    const line = `${what} [${bar}] ${Math.floor(share() * 100)} %  ${state()}`;
    write(`\r${line.slice(0, Math.max(20, (process.stderr.columns || 80) - 1))}\x1b[K`);
  };
  const update = () => {
    if (terminal) return performance.now() - drawnAt >= redrawMs ? draw() : undefined;
    const reached = Math.floor(share() * 10);
    if (reached <= tenth) return;
    tenth = reached;
    write(`${what}: ${reached * 10} %, ${state()}\n`);
  };
  return {
    add(more) {
      bytes += more;
      update();
    },
    fileDone() {
      files += 1;
      update();
    },
    say(line) {
      write(terminal ? `\r\x1b[K${line}\n` : `${line}\n`);
      if (terminal) draw();
    },
    end() {
      if (!terminal) return;
      draw();
      write("\n");
    },
  };
}
