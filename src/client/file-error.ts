import { ClientError } from "./errors.ts";
import { failedStatus } from "./multistatus.ts";

/** The server refused a file over WebDAV. */
export class FileError extends ClientError {
  override readonly name: string = "FileError";

  constructor(
    message: string,
    readonly status: number,
    /** `data.reason` of the server's error, where it has one: `is_folder`, `name_too_long`, `missing_permission`, … */
    readonly reason?: string | undefined,
    /** How long the server asks to wait before the next attempt (`Retry-After`). */
    readonly retryAfterMs?: number | undefined,
  ) {
    super(message);
  }
}

/** The token is wrong, expired, or does not hold all four permissions on the bucket's files. */
export class FileDenied extends FileError {
  override readonly name = "FileDenied";
}
/** There is no such file, folder or bucket. */
export class FileNotFound extends FileError {
  override readonly name = "FileNotFound";
}
/** Something of another kind exists there, its folder is missing, or somebody changed it meanwhile (412). */
export class FileConflict extends FileError {
  override readonly name = "FileConflict";
}
/** Another program holds a lock on it. */
export class FileLocked extends FileError {
  override readonly name = "FileLocked";
}
/** The file is above `max_upload_size`, or the server's disk is full. */
export class FileTooBig extends FileError {
  override readonly name = "FileTooBig";
}

const classes: Readonly<Record<number, typeof FileError>> = {
  401: FileDenied,
  403: FileDenied,
  404: FileNotFound,
  405: FileConflict,
  409: FileConflict,
  412: FileConflict,
  413: FileTooBig,
  423: FileLocked,
  507: FileTooBig,
};

const changedMeanwhile = "someone else created, changed or removed it";

export interface FailedRequest {
  readonly path: string;
  readonly status: number;
  /** The body of the response: a sentence, or XML. */
  readonly text: string;
  /** The header `x-error-reason`. */
  readonly reason?: string | null | undefined;
  /** The header `retry-after`. A date, which this server never sends, is ignored. */
  readonly retryAfter?: string | null | undefined;
}

/** Makes the error of a refused request. */
export function toFileError({ path, status, text, reason: word, retryAfter }: FailedRequest): FileError {
  // RFC 4918 §9.6.1: a folder of which a part could not be deleted or moved is reported as 207, with the status of the part in the body.
  const inner = (status === 207 ? failedStatus(text) : undefined) ?? status;
  const line =
    status === 412 ? changedMeanwhile : text.startsWith("<") ? "" : text.trim().replace(/^\d+ /, "");
  const reason =
    line !== "" ? line : status === 207 ? "a part of it could not be changed" : "the server refuses";
  const Kind = classes[inner] ?? FileError;
  const message = `${path === "" ? "the bucket" : path}: ${reason}${line === "" ? ` (${inner})` : ""}`;
  const retryAfterMs = /^\d+$/.test(retryAfter ?? "") ? 1000 * Number(retryAfter) : undefined;
  return new Kind(message, inner, word ?? undefined, retryAfterMs);
}
