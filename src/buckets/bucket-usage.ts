import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { Task } from "../base/task.ts";
import type { Logger } from "../log/hub.ts";
import { quietly } from "../log/span.ts";
import type { FileReader } from "./ports.ts";
import type { Bucket } from "./record.ts";

/** The interval between two searches for buckets whose count is due. */
const tickMs = 1000;
/** A bucket that was changed is counted again after this time; others rarely, in case another program changed their files. */
const changedMs = 10_000;
const unchangedMs = 3_600_000;
/** The records of the buckets are read again after this time. */
const recordsMs = 60_000;
/** Counting pauses for this multiple of the time that it took, so that it takes at most a twentieth of a processor. */
const restFactor = 19;
const maxRestMs = 1000;

interface Usage {
  readonly files: number;
  readonly bytes: number;
  /** When a file was last modified, in Unix milliseconds; null if there is no file. */
  readonly newestMs: number | null;
}

/** OtherBytes is what a bucket takes beside its present files. */
export interface OtherBytes {
  /** The trees of its deploys that are not published. */
  readonly deployBytes: number;
  /** What was deleted or replaced and can be restored. */
  readonly trashBytes: number;
  /** What has arrived of unfinished uploads. */
  readonly uploadBytes: number;
}

/** UsageCount is the usage of a bucket, with when and how long it was counted. */
interface UsageCount extends Usage, OtherBytes {
  readonly countedAt: number;
  readonly tookMs: number;
}

interface BucketUsageOptions {
  readonly buckets: () => Promise<readonly Bucket[]>;
  readonly readerOf: (bucket: Bucket) => FileReader;
  readonly othersOf: (bucket: Bucket) => Promise<OtherBytes>;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * BucketUsage counts the files and bytes of every bucket in the background, one bucket at a time. No request waits for it: readers get
 * the last count, which is a few seconds old after a change by this server, and up to an hour after one by another program.
 */
export class BucketUsage {
  readonly #options: BucketUsageOptions;
  readonly #counted = new Map<string, UsageCount>();
  /** Buckets that were changed since their last count began. */
  readonly #changed = new Set<string>();
  #records: readonly Bucket[] = [];
  #recordsReadAt = Number.NEGATIVE_INFINITY;
  readonly #task: Task;

  constructor(options: BucketUsageOptions) {
    this.#options = options;
    this.#task = new Task({
      clock: options.clock,
      everyMs: tickMs,
      run: (signal) => this.#countDue(signal),
      failed(error) {
        // The database is away, which is logged as such; the counts stay as they are.
        options.log.debug("the files of the buckets cannot be counted", { reason: messageOf(error) });
      },
    }).start();
  }

  /** The last counts by bucket name; a bucket that was not counted yet is missing. */
  get usage(): ReadonlyMap<string, Usage & OtherBytes> {
    return this.#counted;
  }

  /** To be called when files of a bucket may have changed. */
  changed(name: string): void {
    this.#changed.add(name);
  }

  /** To be called when buckets were created, changed or deleted. */
  recordsChanged(): void {
    this.#recordsReadAt = Number.NEGATIVE_INFINITY;
  }

  close(): void {
    void this.#task.close();
  }

  async #countDue(signal: AbortSignal): Promise<void> {
    await this.#readRecords();
    for (const bucket of this.#records) {
      if (signal.aborted) return;
      if (this.#isDue(bucket.name)) await this.#count(bucket, signal);
    }
  }

  async #readRecords(): Promise<void> {
    const now = this.#options.clock.monotonic();
    if (now - this.#recordsReadAt < recordsMs) return;
    this.#recordsReadAt = now;
    // Nobody asked for it, so its statements are not in the log.
    this.#records = await quietly(() => this.#options.buckets());
    const names = new Set(this.#records.map(({ name }) => name));
    for (const name of this.#counted.keys()) if (!names.has(name)) this.#counted.delete(name);
    for (const name of this.#changed) if (!names.has(name)) this.#changed.delete(name);
  }

  #isDue(name: string): boolean {
    const counted = this.#counted.get(name);
    if (counted === undefined) return true;
    const minMs = this.#changed.has(name) ? changedMs : unchangedMs;
    return this.#options.clock.monotonic() - counted.countedAt >= Math.max(minMs, counted.tookMs);
  }

  async #count(bucket: Bucket, signal: AbortSignal): Promise<void> {
    this.#changed.delete(bucket.name);
    const startedAt = performance.now();
    let [files, bytes, newest, pieceStartedAt] = [0, 0, 0, startedAt];
    let others: OtherBytes = { deployBytes: 0, trashBytes: 0, uploadBytes: 0 };
    try {
      for await (const { sizes, newestMs } of this.#options.readerOf(bucket).fileSizes()) {
        files += sizes.length;
        for (const size of sizes) bytes += size;
        newest = Math.max(newest, newestMs);
        await rest(pieceStartedAt);
        if (signal.aborted) return;
        pieceStartedAt = performance.now();
      }
      others = await this.#options.othersOf(bucket);
    } catch (error) {
      // The folder of the bucket is missing, or its disk fails; requests for its files report that.
      this.#options.log.debug("a bucket cannot be counted", {
        bucket: bucket.name,
        reason: messageOf(error),
      });
      [files, bytes, newest] = [0, 0, 0];
    }
    const countedAt = this.#options.clock.monotonic();
    const newestMs = files === 0 ? null : newest;
    const tookMs = performance.now() - startedAt;
    this.#counted.set(bucket.name, { files, bytes, newestMs, ...others, countedAt, tookMs });
    await rest(pieceStartedAt);
  }
}

/** Waits in proportion to the real time since `startedAt`. */
function rest(startedAt: number): Promise<void> {
  return Bun.sleep(Math.min(maxRestMs, (performance.now() - startedAt) * restFactor));
}
