import { runBackupChild } from "../../backup/backup-process.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { explainFileError } from "../file-error.ts";
import { interruptible } from "../terminal/interrupt.ts";

/** Makes a backup for a running server, which starts it as a child process; it is not for people. */
export function backupChild(_options: unknown, ctx: Context): Promise<number> {
  return interruptible(ctx, "interrupted; no backup was made", async (signal) => {
    await runBackupChild({ signal, explain: explainFileError });
    return exitCodes.done;
  });
}
