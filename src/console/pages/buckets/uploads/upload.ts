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
