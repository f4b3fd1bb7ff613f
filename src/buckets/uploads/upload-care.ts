import { Fault, messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import { outsideSpans } from "../../log/span.ts";
import type { Uploads } from "./uploads.ts";

const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;
/** The time that a cleaning has to end when the server stops. */
const maxCloseMs = 2000;

/** UploadCare removes uploads that nobody has finished in time: soon after the start, and once an hour. */
export class UploadCare {
  readonly #uploads: Uploads;
  readonly #log: Logger;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(uploads: Uploads, log: Logger) {
    this.#uploads = uploads;
    this.#log = log;
  }

  start(): void {
    this.#wait(firstWaitMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.race([this.#running, Bun.sleep(maxCloseMs)]);
  }

  #wait(ms: number): void {
    if (this.#isClosed) return;
    this.#timer = outsideSpans(() =>
      setTimeout(() => {
        this.#running = this.#run().finally(() => this.#wait(everyMs));
      }, ms),
    );
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    try {
      const removed = await this.#uploads.clean();
      if (removed > 0)
        this.#log.event("upload.expired", "uploads that were not finished in time were removed", { removed });
    } catch (error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      this.#log.event("upload.work_failed", "uploads that ended could not be removed", { reason });
    }
  }
}
