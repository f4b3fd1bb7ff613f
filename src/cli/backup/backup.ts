import { type BackupResult, makeBackup, makeBackupFile } from "../../backup/make-backup.ts";
import { Fault } from "../../base/fault.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { filesSource } from "../../settings.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { type Context, PipeClosed } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { readConfig, uuidOf } from "../server/open.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText, sizeText } from "../terminal/quantities.ts";

/** Writes a backup beside a running server, or of a stopped one. */
export function backup(
  {
    file,
    config: configPath,
    files,
    keys,
  }: CommandOptions & { readonly file: string; readonly files?: boolean; readonly keys?: boolean },
  ctx: Context,
): Promise<number> {
  return interruptible(ctx, "interrupted; no backup was made", async (signal) => {
    const toStdout = file === "-";
    if (toStdout && ctx.out.isTTY)
      throw new WrongUsage("a backup is binary: redirect standard output, or name a file instead of -");
    const config = await readConfig(ctx, configPath, inspectMovedDatabase);
    const source = {
      database: config.database,
      configPath: ctx.path(configPath),
      serverUuid: await uuidOf(config, ctx.path(configPath)),
      files: files ? filesSource(config) : undefined,
      keys,
    };
    const line = new Progress(ctx, "backing up");
    const options = {
      signal,
      progress: (at: { rows: number; files: number; bytes: number }) =>
        line.update(
          () => `${countText(at.rows, "row")}, ${countText(at.files, "file")}, ${sizeText(at.bytes)}`,
        ),
    };
    let result: BackupResult;
    try {
      result = toStdout
        ? await makeBackup(source, new LogHub(), { ...options, write: (bytes) => printWhole(ctx, bytes) })
        : await makeBackupFile(ctx.path(file), source, { ...options, hub: new LogHub() });
    } finally {
      line.clear();
    }
    report(ctx, result, toStdout ? "standard output" : ctx.path(file));
    return exitCodes.done;
  });
}

/** `printWhole` writes to standard output. A closed pipe is a failure here: what arrived is not a backup. */
async function printWhole(ctx: Context, bytes: Uint8Array): Promise<void> {
  try {
    await ctx.print(bytes);
  } catch (error) {
    if (!(error instanceof PipeClosed)) throw error;
    throw new Fault("IoError", "the program that reads the backup has ended; delete the incomplete backup");
  }
}

function report(ctx: Context, result: BackupResult, location: string): void {
  for (const note of result.notes) ctx.say(`note: ${note}`);
  if (result.otherTables.length > 0)
    ctx.say(`note: the backup does not contain tables of other programs: ${result.otherTables.join(", ")}`);
  ctx.say(
    `Backup of ${countText(result.rows, "row")} and ${countText(result.files, "file")} written to ${location} (${sizeText(result.compressedBytes)}). It contains the configuration and hashes of secrets: store it where only you can read it.`,
  );
}
