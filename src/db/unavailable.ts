import { Fault } from "../base/fault.ts";

/**
 * The database cannot be used now. `detail` names no host, user, file or database, because callers read it; the cause is for
 * the operator's log and terminal.
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
