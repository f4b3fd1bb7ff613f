import { resolve } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { currentUser } from "../base/local-fs/access.ts";
import { FileError, RpcError, Unreachable } from "../client/index.ts";

/** WrongUsage is a mistake in the command line, found before anything was sent. Exit code 2. */
export class WrongUsage extends Fault {
  constructor(detail: string) {
    super("InvalidInput", detail);
  }
}

/** ErrorFacts is an error for programs, as `--json` prints it: what `data` of a JSON-RPC error holds, with its code. */
export interface ErrorFacts extends Readonly<Record<string, unknown>> {
  /** The kind of the server's error, or the class of one of the client. */
  readonly kind: string;
  readonly detail: string;
}

export function errorFacts(error: unknown): ErrorFacts {
  if (error instanceof Fault) {
    const { kind, code, data, detail } = error;
    return { kind, code, ...data, detail };
  }
  if (error instanceof RpcError) {
    const { kind, code, data, detail } = error;
    return { ...data, kind, code, detail };
  }
  const kind = error instanceof Error ? error.name : "Error";
  const detail = messageOf(error);
  if (error instanceof FileError) return { kind, status: error.status, reason: error.reason, detail };
  if (error instanceof Unreachable) return { kind, reason: error.reason, detail };
  return { kind, detail };
}

/** Messages for the system's error codes about a path that the user named, each with what to do. */
const meanings: Readonly<Record<string, string>> = {
  EACCES: "permission denied; check its owner and mode, and those of the folders above it",
  EPERM: "the operating system does not allow it; check its owner and its attributes",
  ENOENT: "it does not exist; check the path",
  ENOTDIR: "a file is where a folder is needed; name another path",
  EISDIR: "it is a folder, not a file; name another path",
  EEXIST: "something exists there already; remove it or name another path",
  ENAMETOOLONG: "the name is too long for this file system; use a shorter one",
  ELOOP: "its links form a circle; name another path",
  EROFS: "the file system is read-only; mount it writable or name another path",
};

/** Messages for failures of the disk as a whole, which often have no path. */
const diskMeanings: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; free some space and try again",
  EDQUOT: "the disk quota is used up; free some space and try again",
  EIO: "the disk cannot be read or written; check it",
};

/** Explains a system error about a file to the user. Undefined for any other error, which is a bug of this program. */
export function explainFileError(error: unknown): string | undefined {
  const code = codeOf(error) ?? "";
  const path = error instanceof Error && "path" in error ? error.path : undefined;
  const disk = diskMeanings[code];
  if (typeof path !== "string" || path === "") return disk;
  const meaning = disk ?? meanings[code];
  const who = code === "EACCES" ? ` (this runs as ${currentUser()})` : "";
  return meaning && `${resolve(path)}: ${meaning}${who}`;
}
