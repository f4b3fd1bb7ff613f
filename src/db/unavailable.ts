import { Fault, type FaultData } from "../base/fault.ts";

/**
 * `unavailable` returns the error for a database that cannot be used now. Callers read `detail`, so it names no host, user, file or
 * database; the cause is for the operator's log and terminal.
 */
export function unavailable(
  cause: unknown,
  detail = "the database cannot be reached; try again shortly",
): Fault {
  return new Fault("DatabaseError", detail, { reason: "unavailable" }, { cause });
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.data.reason === "unavailable";
}

/**
 * `diskFull` returns the error for a full disk of the database. It is the same kind as for a bucket's files, so that clients handle one
 * case.
 */
export function diskFull(cause: unknown, data: FaultData = {}): Fault {
  return new Fault(
    "IoError",
    "the disk of the database is full; nothing was changed",
    { ...data, reason: "disk_full" },
    { cause },
  );
}
