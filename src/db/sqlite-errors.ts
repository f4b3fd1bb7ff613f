import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { diskFull } from "./disk-full.ts";
import { unavailable } from "./unavailable.ts";

const uniqueCodes = new Set(["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"]);

/** `toSqliteFault` turns an error of SQLite into a Fault, with SQLite's own message unless there is a clearer one. */
export function toSqliteFault(error: unknown): Fault {
  const code = codeOf(error) ?? "";
  if (code === "SQLITE_FULL") return diskFull(error);
  if (code.startsWith("SQLITE_BUSY"))
    return unavailable(error, "another process keeps the database locked; try again shortly");
  if (code.startsWith("SQLITE_IOERR") || code.startsWith("SQLITE_CANTOPEN"))
    return unavailable(error, `the database file cannot be used: ${messageOf(error)}`);
  return new Fault("DatabaseError", messageOf(error), uniqueCodes.has(code) ? { unique: true } : {}, {
    cause: error,
  });
}
