import type { Clock } from "../../base/clock.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import { RecurringTask } from "../recurring-task.ts";
import type { Uploads } from "./uploads.ts";

const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;

/** UploadCare removes uploads that nobody has finished in time: soon after the start, and once an hour. */
export class UploadCare {
  readonly #uploads: Uploads;
  readonly #log: Logger;
  readonly #task: RecurringTask;

  constructor(uploads: Uploads, log: Logger, clock: Clock) {
    this.#task = new RecurringTask(() => this.#run(), clock);
    this.#uploads = uploads;
    this.#log = log;
  }

  start(): void {
    this.#task.start(firstWaitMs);
  }

  close(): Promise<void> {
    return this.#task.close();
  }

  async #run(): Promise<number> {
    try {
      const removed = await this.#uploads.clean();
      if (removed > 0)
        this.#log.event("upload.expired", "uploads that were not finished in time were removed", { removed });
    } catch (error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      this.#log.event("upload.work_failed", "uploads that ended could not be removed", { reason });
    }
    return everyMs;
  }
}
