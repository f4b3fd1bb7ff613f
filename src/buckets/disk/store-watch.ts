import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { folderProblem } from "../../base/access.ts";
import { codeOf, messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans, quietly } from "../../log/span.ts";

/** The interval of the looks at the folder. */
const intervalMs = 5000;
/** A file system, such as a network mount, that does not answer for this long is lost. */
const maxLookMs = 3000;
/** With less space than this the disk counts as full. */
const minFreeBytes = 1024 * 1024;

export interface StoreWatchOptions {
  /** `static_path`, absolute. */
  readonly path: string;
  /** Whether any bucket exists. Before the first one, the folder need not exist. */
  readonly hasBuckets: () => Promise<boolean>;
  readonly log: Logger;
}

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Problem says why the folder cannot be used; `isMissing` if its files cannot be read either. */
interface Problem {
  readonly why: string;
  readonly isMissing: boolean;
}

/**
 * StoreWatch looks at the folder of all buckets: whether it exists, can be read and written, and has space. A loss and a return are one
 * log line each. It asks the file system by a thread, so that one that does not answer stops nothing else.
 */
export class StoreWatch {
  readonly #options: StoreWatchOptions;
  readonly #timer: Timer;
  #looking: Promise<void> | undefined;
  #problem: Problem | undefined;
  #lostAt = 0;
  #losses = 0;
  #space: DiskSpace | undefined;
  #wasSeen = false;
  /** Whether the folder was the root of a mounted file system. */
  #wasMounted = false;
  #closed = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    this.#timer = outsideSpans(() => setInterval(() => void this.look(), intervalMs));
    this.#timer.unref();
  }

  /** How often the folder was lost since the watch began. */
  get losses(): number {
    return this.#losses;
  }

  /** True if the last look found a problem. */
  get isLost(): boolean {
    return this.#problem !== undefined;
  }

  /** True if the last look found no folder, so that all its files are missing. */
  get isMissing(): boolean {
    return this.#problem?.isMissing ?? false;
  }

  /** The disk of the folder at the last look; undefined while that is not known. */
  get space(): DiskSpace | undefined {
    return this.#space;
  }

  /** Looks at the folder now, for a bounded time. Callers share a look that is under way. Does not reject. */
  async look(): Promise<void> {
    const looking = this.#looking ?? this.#start();
    const { promise: late, resolve } = Promise.withResolvers<"late">();
    const timer = setTimeout(() => resolve("late"), maxLookMs);
    const outcome = await Promise.race([looking, late]);
    clearTimeout(timer);
    if (outcome === "late" && this.#looking === looking)
      this.#conclude({ why: "does not answer; check its disk or network mount", isMissing: false });
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  #start(): Promise<void> {
    this.#looking = this.#examine().then((problem) => {
      this.#looking = undefined;
      this.#conclude(problem);
    });
    return this.#looking;
  }

  async #examine(): Promise<Problem | undefined> {
    const { path } = this.#options;
    try {
      const stats = await stat(path);
      if (!stats.isDirectory())
        return { why: "is a file, not a folder; put the folder back", isMissing: true };
      const isMounted = stats.dev !== (await stat(dirname(path))).dev;
      if (this.#wasMounted && !isMounted)
        return {
          why: "has lost the file system that was mounted there; mount it again",
          isMissing: true,
        };
      this.#wasSeen = true;
      this.#wasMounted = isMounted;
      await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
      return await this.#examineSpace(path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return this.#examineAbsence();
      return { why: folderProblem(path)?.why ?? `cannot be used: ${messageOf(error)}`, isMissing: false };
    }
  }

  async #examineSpace(path: string): Promise<Problem | undefined> {
    const { bavail, blocks, bsize, files, ffree } = await statfs(path);
    const freeBytes = bavail * bsize;
    this.#space = { freeBytes, totalBytes: blocks * bsize };
    if (freeBytes < minFreeBytes)
      return { why: "is on a full disk; delete files or enlarge the disk", isMissing: false };
    // Some file systems have no fixed number of files, and report 0 for both.
    if (files > 0 && ffree === 0)
      return { why: "is on a disk that can hold no more files; delete some", isMissing: false };
    return undefined;
  }

  async #examineAbsence(): Promise<Problem | undefined> {
    // Without the database it is not known whether there are buckets; that is reported as the database's loss. Nobody asked for
    // this look, so its statement is not in the log.
    const mustExist = this.#wasSeen || (await quietly(() => this.#options.hasBuckets()).catch(() => false));
    this.#space = undefined;
    return mustExist
      ? { why: "does not exist; put it back, or mount its file system", isMissing: true }
      : undefined;
  }

  #conclude(problem: Problem | undefined): void {
    if (this.#closed) return;
    const { path, log } = this.#options;
    const wasLost = this.isLost;
    this.#problem = problem;
    if (problem !== undefined && !wasLost) {
      this.#lostAt = performance.now();
      this.#losses += 1;
      outsideSpans(() =>
        log.event("store.lost", "the folder of the buckets cannot be used; requests for files may fail", {
          static_path: path,
          reason: `the folder ${problem.why}`,
        }),
      );
    }
    if (problem === undefined && wasLost)
      outsideSpans(() =>
        log.event("store.restored", "the folder of the buckets can be used again", {
          static_path: path,
          lost_ms: Math.round(performance.now() - this.#lostAt),
        }),
      );
  }
}
