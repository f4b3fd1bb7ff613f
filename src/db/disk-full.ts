import { Fault } from "../base/fault.ts";

/** The disk that the database is on is full: the same kind of failure as for a bucket's files, so that clients need to know one. */
export function diskFull(cause: unknown, data: Readonly<Record<string, unknown>> = {}): Fault {
  return new Fault(
    "IoError",
    "the disk of the database is full; nothing was changed",
    { ...data, reason: "disk_full" },
    { cause },
  );
}
