import { runSqliteChild } from "../../db/operator/sqlite/child.ts";
import { exitCodes } from "../command.ts";

/** Runs an operator's SQL. The server starts it as a child process; it is not for people. */
export async function sqlChild(): Promise<number> {
  await runSqliteChild();
  return exitCodes.done;
}
