export type UploadState = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface UploadWish {
  readonly bucket: string;
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** `again`: it failed before. */
  readonly send: (
    onProgress: (bytes: number) => void,
    signal: AbortSignal,
    again: boolean,
  ) => Promise<unknown>;
}

export interface Upload extends UploadWish {
  readonly id: number;
  state: UploadState;
  /** In bytes. */
  sent: number;
  error: unknown;
  again: boolean;
  leave: AbortController;
}

export interface Totals {
  readonly bytes: number;
  readonly sent: number;
  /** In bytes a second. */
  readonly rate: number;
  /** How long the rest takes at this rate; undefined while there is none. */
  readonly leftMs: number | undefined;
  readonly counts: Readonly<Record<UploadState, number>>;
}
