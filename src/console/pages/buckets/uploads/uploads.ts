import { signal } from "@preact/signals";
import { Rate } from "./rate.ts";
import type { Totals, Upload, UploadWish } from "./upload.ts";

/** What is told about more often than this nobody can see. */
const tellMs = 100;

/** Uploads, some at a time. What changed is told by `changed`, at most ten times a second. */
export class UploadQueue {
  readonly changed = signal(0);
  /** Grows with every file that has arrived. */
  readonly arrived = signal(0);
  #all: Upload[] = [];
  #waiting: Upload[] = [];
  #running = 0;
  #next = 1;
  #telling: ReturnType<typeof setTimeout> | undefined;
  readonly #rate = new Rate();

  constructor(private readonly atOnce: number) {}

  get all(): readonly Upload[] {
    return this.#all;
  }

  /** Something is still to be sent. */
  get busy(): boolean {
    return this.#all.some(isOpen);
  }

  add(wishes: readonly UploadWish[]): void {
    const waiting = { state: "waiting", sent: 0, error: undefined, again: false } as const;
    const added = wishes.map((wish) => ({
      ...wish,
      ...waiting,
      id: this.#next++,
      leave: new AbortController(),
    }));
    this.#all = [...this.#all, ...added];
    this.#waiting = [...this.#waiting, ...added];
    this.#begin();
  }

  cancel(upload: Upload): void {
    letGo(upload);
    this.#tellNow();
  }

  cancelAll(): void {
    for (const upload of this.#all) letGo(upload);
    this.#tellNow();
  }

  /** Sends one that failed or was cancelled once more; without one, all that failed. */
  retry(one?: Upload): void {
    const wanted = one === undefined ? this.#all.filter(({ state }) => state === "failed") : [one];
    for (const upload of wanted) {
      if (upload.state !== "failed" && upload.state !== "cancelled") continue;
      const again = upload.state === "failed";
      Object.assign(upload, { state: "waiting", sent: 0, error: undefined, again });
      upload.leave = new AbortController();
      this.#waiting.push(upload);
    }
    this.#begin();
  }

  /** Forgets what is over. */
  clear(): void {
    this.#all = this.#all.filter(isOpen);
    this.#tellNow();
  }

  totals(): Totals {
    const counts = { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    let bytes = 0;
    let sent = 0;
    let left = 0;
    for (const upload of this.#all) {
      counts[upload.state] += 1;
      if (upload.state === "cancelled") continue;
      bytes += upload.size;
      sent += upload.sent;
      if (isOpen(upload)) left += upload.size - upload.sent;
    }
    const rate = this.#rate.perSecond();
    return { bytes, sent, rate, counts, leftMs: rate === 0 ? undefined : (1000 * left) / rate };
  }

  /** After something was added. */
  #begin(): void {
    if (this.#running === 0) this.#rate.restart();
    this.#go();
  }

  #go(): void {
    while (this.#running < this.atOnce) {
      const upload = this.#waiting.shift();
      if (upload === undefined) break;
      if (upload.state === "waiting") void this.#send(upload);
    }
    this.#tell();
  }

  async #send(upload: Upload): Promise<void> {
    const { leave } = upload;
    upload.state = "running";
    this.#running += 1;
    const onProgress = (bytes: number) => {
      if (upload.leave !== leave) return;
      this.#rate.add(bytes - upload.sent);
      upload.sent = bytes;
      this.#tell();
    };
    try {
      await upload.send(onProgress, leave.signal, upload.again);
      this.arrived.value += 1;
      // A cancel that came after the last byte came too late, unless it is being sent once more already.
      if (upload.leave === leave) Object.assign(upload, { state: "done", sent: upload.size });
    } catch (error) {
      if (!leave.signal.aborted) Object.assign(upload, { state: "failed", sent: 0, error });
    } finally {
      this.#running -= 1;
      this.#go();
    }
  }

  #tell(): void {
    this.#telling ??= setTimeout(() => this.#tellNow(), tellMs);
  }

  #tellNow(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    // `peek`: an effect that cancels uploads must not come to depend on the signal that this writes.
    this.changed.value = this.changed.peek() + 1;
  }
}

/** Whether there is still something to be sent of it. */
function isOpen({ state }: Upload): boolean {
  return state === "waiting" || state === "running";
}

function letGo(upload: Upload): void {
  if (!isOpen(upload)) return;
  upload.state = "cancelled";
  upload.leave.abort();
}

/** One for the whole console: uploads go on while other folders and pages are looked at. */
export const uploads = new UploadQueue(3);
