import { ClientError } from "./errors.ts";
import { failedStatus } from "./multistatus.ts";

/** The server refused a file over WebDAV. */
export class FileError extends ClientError {
  override readonly name: string = "FileError";

  constructor(
    message: string,
    readonly status: number,
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
/** Something else stands there, the folder that it belongs into is missing, or somebody changed it meanwhile (412). */
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

const changedMeanwhile = "it is not what was expected: somebody else made, changed or removed it";

/** `text` is the body of the answer: a line of words, or XML. */
export function toFileError(path: string, status: number, text: string): FileError {
  // RFC 4918 §9.6.1: a folder of which a part could not be deleted or moved is told as 207, and the part's status is in it.
  const inner = (status === 207 ? failedStatus(text) : undefined) ?? status;
  const line =
    status === 412 ? changedMeanwhile : text.startsWith("<") ? "" : text.trim().replace(/^\d+ /, "");
  const words =
    line !== "" ? line : status === 207 ? "a part of it could not be changed" : "the server refuses";
  const Kind = classes[inner] ?? FileError;
  return new Kind(`${path}: ${words}${line === "" ? ` (${inner})` : ""}`, inner);
}
