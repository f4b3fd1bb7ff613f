import { Fault, type FaultData } from "../base/fault.ts";

/**
 * `diskFull` is the error for a full disk of the database. It is the same kind as for a bucket's files, so that clients handle one
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
