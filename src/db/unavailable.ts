import { Fault } from "../base/fault.ts";

/**
 * The database cannot be reached. The message names no host, user or database, because callers read it; the cause is for
 * the operator's log and terminal.
 */
export function unavailable(cause: unknown): Fault {
  return new Fault(
    "DatabaseError",
    "the database cannot be reached; try again shortly",
    { reason: "unavailable" },
    { cause },
  );
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.data.reason === "unavailable";
}
