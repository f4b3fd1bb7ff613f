import type { RetryOptions } from "./retry.ts";

export interface Transfer {
  readonly signal?: AbortSignal | undefined;
  /** `total` is undefined where it is not known. */
  readonly onProgress?: ((bytes: number, total: number | undefined) => void) | undefined;
}

export interface Upload extends Transfer {
  /** The time of the last change, to be stored with the file. */
  readonly modified?: Date | undefined;
  /** Makes missing parent folders. */
  readonly makeFolders?: boolean | undefined;
  /** Replaces only the file that has this ETag; throws `FileConflict` when it was changed. */
  readonly ifMatch?: string | undefined;
  /** Throws `FileConflict` when something exists at the path. */
  readonly onlyNew?: boolean | undefined;
  /** The SHA-256 of the content, in hexadecimal, which the server checks where it takes the file in several requests. */
  readonly sha256?: string | undefined;
  /**
   * Goes on with an upload that an earlier run did not finish: the one that `onResumable` named, or with `true` one of the same
   * path, size, `modified` and `sha256`. It begins anew if there is none. For content above 16 MiB whose parts can be read in any
   * order: bytes and blobs, files of a disk included.
   */
  readonly resume?: string | true | undefined;
  /**
   * Sends content of any size in the way that takes only the permission to write files: a resumable upload, which makes missing
   * folders. A stream is read into memory first.
   */
  readonly writeOnly?: boolean | undefined;
  /**
   * Whether failures of a connection or a busy server are waited for, up to three minutes. Default: only for content above 16
   * MiB. True does it for smaller content too, except for streams; an attempt whose answer was lost may then have stored the
   * file, so content that is already there counts as uploaded even with `ifMatch` or `onlyNew`. False is for a caller that tries
   * again itself, with `resume`.
   */
  readonly retry?: boolean | undefined;
  /** Called before each pause of `retry`. A promise that it returns ends the pause early when it resolves. */
  readonly onRetry?: RetryOptions["onRetry"];
  /** Called with what `resume` takes, once the server can be asked to go on. */
  readonly onResumable?: ((resume: string) => void) | undefined;
  /** Called with the number of bytes that the server has from an earlier run, before `onProgress`. */
  readonly onResumed?: ((bytes: number) => void) | undefined;
}

export interface Uploaded {
  /** For `ifMatch` of the next upload. Undefined where a proxy removes it. */
  readonly etag: string | undefined;
}

export interface Relocation {
  readonly signal?: AbortSignal | undefined;
  /** False throws `FileConflict` when something exists at the destination; default true. */
  readonly overwrite?: boolean | undefined;
}

export interface NewFolder {
  readonly signal?: AbortSignal | undefined;
  /** Also makes missing parent folders; default true. False sends one request, for a folder whose parent exists. */
  readonly parents?: boolean | undefined;
}
