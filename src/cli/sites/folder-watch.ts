import { type FSWatcher, statSync, watch } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";

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
  readonly #clock: Clock;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  /** Fires with the first change after `#open`. */
  #change = new AbortController();
  #lastAt = 0;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
    this.#open();
  }

  /** Resolves when there was a change and it is quiet again, or when `signal` fires. The caller must then compare everything. */
  async changed(signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([signal, this.#change.signal]);
    // The sleep keeps the process alive while there is no watcher.
    for (this.#poll(); !woken.aborted; this.#poll()) await this.#clock.sleep(pollMs, woken);
    const first = this.#clock.monotonic();
    while (!signal.aborted && this.#clock.monotonic() - first < maxQuietWaitMs) {
      const rest = this.#lastAt + quietMs - this.#clock.monotonic();
      if (rest <= 0 && this.isThere) break;
      await this.#clock.sleep(Math.max(rest, 20), signal);
    }
    this.#open();
  }

  get isThere(): boolean {
    return identityOf(this.#dir) !== undefined;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  #open(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#change = new AbortController();
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
    this.#lastAt = this.#clock.monotonic();
    this.#change.abort();
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
