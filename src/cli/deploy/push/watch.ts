import { type FSWatcher, statSync, watch } from "node:fs";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { pause } from "../../../client/pause.ts";

/** A build writes many files: a push begins after this time without a change. */
const quietMs = 300;
/** The longest wait for quiet after the first change. */
const maxQuietWaitMs = 5000;
/** The interval at which the folder itself is checked: a missing folder has no watcher that could report its return. */
const pollMs = 1000;

/**
 * FolderWatch reports that something below a folder was changed, also after the folder or one below it was removed and
 * made again.
 *
 * A watcher belongs to the folder that existed when it was opened, not to its path. So `changed` opens a new one each time
 * before it resolves, and its caller then compares the whole tree: whatever happened before the new watcher is found by the
 * comparison, and whatever happens after it is reported.
 */
export class FolderWatch implements Disposable {
  readonly #dir: string;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  #dirty = false;
  #lastAt = 0;
  #wake: () => void = () => {};
  readonly #timer: Timer;

  constructor(dir: string) {
    this.#dir = dir;
    this.#open();
    this.#timer = setInterval(() => this.#poll(), pollMs);
  }

  /** Resolves when there was a change and it is quiet again, or when `signal` fires. The caller must then compare everything. */
  async changed(signal: AbortSignal): Promise<void> {
    while (!this.#dirty && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
        // Between the check above and here nothing else runs.
      });
    }
    const first = Date.now();
    while (!signal.aborted && Date.now() - first < maxQuietWaitMs) {
      const rest = this.#lastAt + quietMs - Date.now();
      if (rest <= 0 && this.isThere) break;
      await pause(Math.max(rest, 20), signal);
    }
    this.#dirty = false;
    this.#open();
  }

  get isThere(): boolean {
    return identityOf(this.#dir) !== undefined;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#watcher?.close();
  }

  #open(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    // Before the watcher: a folder that is replaced in between differs at the next poll.
    this.#identity = identityOf(this.#dir);
    if (this.#identity === undefined) return;
    try {
      this.#watcher = watch(this.#dir, { recursive: true }, () => this.#note());
      this.#watcher.on("error", () => this.#note());
    } catch (error) {
      if (codeOf(error) === "ENOENT") this.#identity = undefined;
      else throw new Fault("IoError", `${this.#dir} cannot be watched: ${whyUnwatchable(error)}`);
    }
  }

  #poll(): void {
    if (identityOf(this.#dir) !== this.#identity) this.#note();
  }

  #note(): void {
    this.#dirty = true;
    this.#lastAt = Date.now();
    this.#wake();
  }
}

/** Identifies a folder. It includes the birth time, because file systems reuse inode numbers at once. */
function identityOf(dir: string): string | undefined {
  const stats = statSync(dir, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}

function whyUnwatchable(error: unknown): string {
  const code = codeOf(error);
  return code === "ENOSPC" || code === "EMFILE"
    ? "the system allows no more watched folders (raise fs.inotify.max_user_watches and max_user_instances)"
    : messageOf(error);
}
