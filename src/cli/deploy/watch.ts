import { type FSWatcher, statSync, watch } from "node:fs";
import { pause } from "./upload-queue.ts";

/** A change is followed by others: a build writes many files. So it is quiet this long before anything is done. */
const quietMs = 300;
/** But no longer than this after the first one. */
const longestMs = 5000;
/** How often it is looked whether the folder is still the same one; builds like to throw it away and make it anew. */
const lookMs = 1000;

/** Tells that something below a folder was changed, also after the folder itself was replaced. */
export class FolderWatch implements Disposable {
  #watcher: FSWatcher | undefined;
  #inode: number | undefined;
  #dirty = false;
  #lastAt = 0;
  #wake: () => void = () => {};
  readonly #timer: Timer;

  constructor(private readonly dir: string) {
    this.#open();
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** Resolves when there was a change and it is quiet again, or when `signal` fires. */
  async changed(signal: AbortSignal): Promise<void> {
    while (!this.#dirty && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
        // Between the look above and here nothing else runs.
      });
    }
    const first = Date.now();
    while (!signal.aborted && Date.now() - first < longestMs) {
      const rest = this.#lastAt + quietMs - Date.now();
      if (rest <= 0 && this.isThere) break;
      await pause(Math.max(rest, 20), signal);
    }
    this.#dirty = false;
  }

  get isThere(): boolean {
    return inodeOf(this.dir) !== undefined;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#watcher?.close();
  }

  #open(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#inode = inodeOf(this.dir);
    if (this.#inode === undefined) return;
    this.#watcher = watch(this.dir, { recursive: true }, () => this.#note());
    this.#watcher.on("error", () => this.#note());
  }

  #look(): void {
    const inode = inodeOf(this.dir);
    if (inode === this.#inode) return;
    this.#open();
    this.#note();
  }

  #note(): void {
    this.#dirty = true;
    this.#lastAt = Date.now();
    this.#wake();
  }
}

function inodeOf(dir: string): number | undefined {
  const stats = statSync(dir, { throwIfNoEntry: false });
  return stats?.isDirectory() ? stats.ino : undefined;
}
