import { runSqliteChild } from "../../db/operator/sqlite/child.ts";
import { exitCodes } from "../command.ts";

/** Not for people: what the server starts to run an operator's SQL beside itself. */
export async function sqlChild(): Promise<number> {
  await runSqliteChild();
  return exitCodes.done;
}
