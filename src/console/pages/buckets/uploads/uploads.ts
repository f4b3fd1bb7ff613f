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
    return this.#all.some(({ state }) => state === "waiting" || state === "running");
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
    this.#go();
  }

  cancel(upload: Upload): void {
    letGo(upload);
    this.#tellNow();
  }

  cancelAll(): void {
    for (const upload of this.#all) letGo(upload);
    this.#tellNow();
  }

  /** Those that failed, once more. */
  retry(): void {
    for (const upload of this.#all) {
      if (upload.state !== "failed") continue;
      Object.assign(upload, { state: "waiting", sent: 0, error: undefined, again: true });
      upload.leave = new AbortController();
      this.#waiting.push(upload);
    }
    this.#go();
  }

  /** Forgets what is over. */
  clear(): void {
    this.#all = this.#all.filter(({ state }) => state === "waiting" || state === "running");
    this.#tellNow();
  }

  totals(): Totals {
    const counts = { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    let bytes = 0;
    let sent = 0;
    for (const upload of this.#all) {
      counts[upload.state] += 1;
      if (upload.state === "cancelled") continue;
      bytes += upload.size;
      sent += upload.sent;
    }
    return { bytes, sent, rate: this.#rate.perSecond(), counts };
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
      this.#rate.add(bytes - upload.sent);
      upload.sent = bytes;
      this.#tell();
    };
    try {
      await upload.send(onProgress, leave.signal, upload.again);
      // A cancel that came after the last byte came too late.
      upload.state = "done";
      upload.sent = upload.size;
      this.arrived.value += 1;
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
    this.changed.value += 1;
  }
}

function letGo(upload: Upload): void {
  if (upload.state !== "waiting" && upload.state !== "running") return;
  upload.state = "cancelled";
  upload.leave.abort();
}

/** One for the whole console: uploads go on while other folders and pages are looked at. */
export const uploads = new UploadQueue(3);
