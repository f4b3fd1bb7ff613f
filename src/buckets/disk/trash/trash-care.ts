import type { Clock } from "../../../base/clock.ts";
import { Fault, messageOf } from "../../../base/fault.ts";
import type { Logger } from "../../../log/hub.ts";
import { RecurringTask } from "../../recurring-task.ts";
import type { Trash } from "./trash.ts";

const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;
/** Deleting rests for as long as the last item took, so that other requests get the disk. */
const maxRestMs = 1000;

export interface TrashCareOptions {
  readonly trash: Trash;
  readonly log: Logger;
  readonly clock: Clock;
}

/** TrashCare deletes what has been in the trash for long enough: soon after the start, and once an hour. */
export class TrashCare {
  readonly #options: TrashCareOptions;
  readonly #task: RecurringTask;

  constructor(options: TrashCareOptions) {
    this.#options = options;
    this.#task = new RecurringTask(() => this.#run(), options.clock);
  }

  start(): void {
    this.#task.start(firstWaitMs);
  }

  /** Ends a purge that runs, between two items. */
  close(): Promise<void> {
    return this.#task.close();
  }

  async #run(): Promise<number> {
    const { log } = this.#options;
    try {
      const begin = performance.now();
      const purged = await this.purge();
      if (purged === 0) return everyMs;
      const elapsed_ms = Math.round(performance.now() - begin);
      log.event("trash.purged", "what was in the trash for long enough was deleted", { purged, elapsed_ms });
    } catch (error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      log.event("trash.purge_failed", "the trash could not be purged; it is tried again later", {
        reason,
        retry_ms: everyMs,
      });
    }
    return everyMs;
  }

  /**
   * purge deletes everything whose time has passed, one item after the other, and returns how many. What cannot be deleted is
   * left for the next time, and thrown at the end.
   */
  async purge(): Promise<number> {
    const { trash, clock } = this.#options;
    let purged = 0;
    let failed: { readonly error: unknown } | undefined;
    for await (const bucketPath of trash.bucketPaths()) {
      const bucket = trash.ofBucket(bucketPath);
      const now = clock.now();
      for (const item of await bucket.items()) {
        if (item.keptUntilMs >= now) continue;
        if (this.#task.stopped.aborted) return purged;
        const begin = performance.now();
        try {
          if (await bucket.delete(item)) purged += 1;
        } catch (error) {
          failed ??= { error };
        }
        await Bun.sleep(Math.min(maxRestMs, performance.now() - begin));
      }
    }
    if (failed !== undefined) throw failed.error;
    return purged;
  }
}
