import { signal } from "@preact/signals";
import type { ClientError, UploadRetry } from "../../../../client/index.ts";

export type UploadState = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface UploadRequest {
  readonly bucket: string;
  readonly path: string;
  /** Size in bytes. */
  readonly size: number;
  /** Sends the file, or what the server does not have of it yet. */
  readonly send: (sending: Sending) => Promise<unknown>;
}

/** What happens while an upload is sent. */
export interface Sending {
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number) => void;
  /** Called with the bytes that the server has from an earlier attempt. */
  readonly onResumed: (bytes: number) => void;
  /** Called before each pause of an automatic retry. */
  readonly onRetry: (retry: UploadRetry) => void;
}

/** Failure that may pass, and when the next attempt begins, by `performance.now()`. */
export interface NextTry {
  readonly error: ClientError;
  readonly at: number;
}

export interface Upload extends UploadRequest {
  readonly id: number;
  state: UploadState;
  /** Bytes sent so far. */
  sent: number;
  error: unknown;
  /** Set while a running upload waits for its next attempt. */
  nextTry: NextTry | undefined;
  abort: AbortController;
}

export interface Totals {
  readonly bytes: number;
  readonly sent: number;
  /** Bytes per second. */
  readonly rate: number;
  /** Remaining time at this rate; undefined while the rate is unknown. */
  readonly leftMs: number | undefined;
  readonly counts: Readonly<Record<UploadState, number>>;
  /** The earliest next attempt while every running upload waits for one. */
  readonly nextTry: NextTry | undefined;
}

/** Shortest time from which a rate is calculated. */
const minMeasuredMs = 250;

/** Bytes per second over the last `windowMs`, or since the last `restart`. */
export class Rate {
  readonly #windowMs: number;
  readonly #now: () => number;
  #samples: { readonly at: number; readonly bytes: number }[] = [];
  #start: number;

  constructor(windowMs = 4000, now: () => number = () => performance.now()) {
    this.#windowMs = windowMs;
    this.#now = now;
    this.#start = now();
  }

  /** Starts measuring again, after a time without uploads. */
  restart(): void {
    this.#samples = [];
    this.#start = this.#now();
  }

  add(bytes: number): void {
    this.#samples.push({ at: this.#now(), bytes });
    this.#dropOld();
  }

  /** Bytes per second; 0 while too little was measured. */
  perSecond(): number {
    this.#dropOld();
    const measuredMs = Math.min(this.#now() - this.#start, this.#windowMs);
    if (measuredMs < minMeasuredMs) return 0;
    return (1000 * this.#samples.reduce((sum, sample) => sum + sample.bytes, 0)) / measuredMs;
  }

  #dropOld(): void {
    const oldest = this.#now() - this.#windowMs;
    while ((this.#samples[0]?.at ?? oldest) < oldest) this.#samples.shift();
  }
}

/** Shortest interval between updates of the page. */
const publishIntervalMs = 100;
/** Interval of updates while the page counts the seconds to a next attempt. */
const countdownIntervalMs = 500;

/** Queue of uploads that sends `maxConcurrent` at a time. `changed` is incremented at most ten times a second. */
export class UploadQueue {
  readonly #maxConcurrent: number;
  readonly changed = signal(0);
  /** Incremented for every uploaded file. */
  readonly arrived = signal(0);
  #all: Upload[] = [];
  #waiting: Upload[] = [];
  #running = 0;
  #next = 1;
  #publishTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #rate = new Rate();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  get all(): readonly Upload[] {
    return this.#all;
  }

  /** Whether something is still to be sent. */
  get busy(): boolean {
    return this.#all.some(isOpen);
  }

  add(requests: readonly UploadRequest[]): void {
    const waiting = { state: "waiting", sent: 0, error: undefined, nextTry: undefined } as const;
    const added = requests.map((request) => ({
      ...request,
      ...waiting,
      id: this.#next++,
      abort: new AbortController(),
    }));
    this.#all = [...this.#all, ...added];
    this.#waiting = [...this.#waiting, ...added];
    this.#start();
  }

  cancel(upload: Upload): void {
    cancelIfOpen(upload);
    this.#publish();
  }

  cancelAll(): void {
    for (const upload of this.#all) cancelIfOpen(upload);
    this.#publish();
  }

  /** Sends a failed or cancelled upload again; without an argument, all failed ones. */
  retry(one?: Upload): void {
    const wanted = one === undefined ? this.#all.filter(({ state }) => state === "failed") : [one];
    for (const upload of wanted) {
      if (upload.state !== "failed" && upload.state !== "cancelled") continue;
      Object.assign(upload, { state: "waiting", sent: 0, error: undefined });
      upload.abort = new AbortController();
      this.#waiting.push(upload);
    }
    this.#start();
  }

  /** Removes finished uploads from the list. */
  clear(): void {
    this.#all = this.#all.filter(isOpen);
    this.#publish();
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
    const leftMs = rate === 0 ? undefined : (1000 * left) / rate;
    return { bytes, sent, rate, counts, leftMs, nextTry: this.#nextTry() };
  }

  #nextTry(): Totals["nextTry"] {
    const running = this.#all.filter(({ state }) => state === "running");
    const tries = running.flatMap(({ nextTry }) => nextTry ?? []);
    if (tries.length < running.length) return undefined;
    return tries.sort((one, other) => one.at - other.at)[0];
  }

  #start(): void {
    if (this.#running === 0) this.#rate.restart();
    this.#startNext();
  }

  #startNext(): void {
    while (this.#running < this.#maxConcurrent) {
      const upload = this.#waiting.shift();
      if (upload === undefined) break;
      if (upload.state === "waiting") void this.#send(upload);
    }
    this.#publishSoon();
  }

  async #send(upload: Upload): Promise<void> {
    const { abort } = upload;
    upload.state = "running";
    this.#running += 1;
    try {
      await upload.send(this.#sending(upload));
      this.arrived.value += 1;
      // A cancel after the last byte is too late, unless a retry has already started.
      if (upload.abort === abort)
        Object.assign(upload, { state: "done", sent: upload.size, nextTry: undefined });
    } catch (error) {
      if (!abort.signal.aborted)
        Object.assign(upload, { state: "failed", sent: 0, error, nextTry: undefined });
    } finally {
      this.#running -= 1;
      this.#startNext();
    }
  }

  #sending(upload: Upload): Sending {
    const { abort } = upload;
    const isCurrent = () => upload.abort === abort;
    return {
      signal: abort.signal,
      onProgress: (bytes) => {
        if (!isCurrent()) return;
        this.#goOn(upload);
        this.#rate.add(bytes - upload.sent);
        upload.sent = bytes;
        this.#publishSoon();
      },
      onResumed: (bytes) => {
        // Not added to the rate: these bytes were sent earlier.
        if (isCurrent()) upload.sent = bytes;
      },
      onRetry: ({ error, pauseMs }) => {
        if (!isCurrent()) return;
        upload.nextTry = { error, at: performance.now() + pauseMs };
        this.#publishSoon();
      },
    };
  }

  /** Ends the wait of an upload. The time in which nothing could be sent does not lower the rate. */
  #goOn(upload: Upload): void {
    if (upload.nextTry === undefined) return;
    if (this.#nextTry() !== undefined) this.#rate.restart();
    upload.nextTry = undefined;
  }

  #publishSoon(): void {
    this.#publishTimer ??= setTimeout(() => this.#publish(), publishIntervalMs);
  }

  #publish(): void {
    clearTimeout(this.#publishTimer);
    this.#publishTimer = undefined;
    // `peek`: an effect that cancels uploads must not subscribe to the signal that this writes.
    this.changed.value = this.changed.peek() + 1;
    if (this.#all.some(({ state, nextTry }) => state === "running" && nextTry !== undefined))
      this.#publishTimer = setTimeout(() => this.#publish(), countdownIntervalMs);
  }
}

/** Whether an upload is waiting or running. */
function isOpen({ state }: Upload): boolean {
  return state === "waiting" || state === "running";
}

function cancelIfOpen(upload: Upload): void {
  if (!isOpen(upload)) return;
  Object.assign(upload, { state: "cancelled", nextTry: undefined });
  upload.abort.abort();
}

/** The console's queue. It outlives pages, so uploads continue while the person looks at others. */
export const uploads = new UploadQueue(3);
