import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type CopyReport, copyDatabase } from "../../backup/copy-database.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { Fault } from "../../base/fault.ts";
import { replaceFile } from "../../base/replace-file.ts";
import { readConfigFile } from "../../config/default-config.ts";
import { sqliteFilePart } from "../../config/key.ts";
import { replaceDatabaseUrl } from "../../config/replace-value.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import { interruptible } from "../deploy/interrupt.ts";
import { readConfig } from "../server/open.ts";
import { columns } from "../terminal/columns.ts";
import { print, say } from "../terminal/output.ts";
import { countText } from "../terminal/quantities.ts";
import { StatusLine } from "../terminal/status-line.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { migrateFiles } from "./migrate-files.ts";
import { refuseRunning } from "./refuse-running.ts";

export interface MigrateOptions extends CommandOptions {
  readonly to?: string;
  readonly writeConfig?: boolean;
  readonly files?: string;
  readonly delete?: boolean;
}

/** Copies the configured database into an empty one of either kind, or all files into another store. The password of a URL is in no output. */
export function migrate(options: MigrateOptions): Promise<number> {
  const { config, to, writeConfig, files: target, delete: deletesOthers = false } = options;
  if (target === undefined) {
    if (deletesOthers) throw new WrongUsage("--delete belongs to --files");
    return interruptible((signal) => migrateUntil(signal, options), "ended; nothing was changed");
  }
  if (to !== undefined || writeConfig)
    throw new WrongUsage("--files moves the files, and --to the database: run the command once for each");
  return interruptible(
    (signal) => migrateFiles(signal, { config, target, deletesOthers }),
    "ended; what was copied so far is not copied again when you repeat the command",
  );
}

async function migrateUntil(
  signal: AbortSignal,
  { config: path, to, writeConfig }: MigrateOptions,
): Promise<number> {
  const target = checkedUrl(to === "-" ? (await Bun.stdin.text()).trim() : to);
  const config = await readConfig(path, inspectMovedDatabase);
  const { database } = config;
  const [source, shown] = [shownDatabase(database.database_url), shownDatabase(target)];
  if (source === shown) throw new WrongUsage(`${shown} is the configured database already`);
  // A server that writes on would not be in the copy.
  await refuseRunning({ config, path });
  const line = new StatusLine();
  let report: CopyReport;
  try {
    report = await copyDatabase({
      from: database,
      to: { ...database, database_url: target },
      hub: new LogHub(),
      progress({ doing, table, rows }) {
        signal.throwIfAborted();
        line.update(() => `${doing} ${table}: ${countText(rows, "row")}`);
      },
    });
  } finally {
    line.clear();
  }
  await print(
    columns(
      ["TABLE", "ROWS", "SHA-256"],
      report.tables.map(({ name, rows, sha256 }) => [name, String(rows), sha256]),
    ),
  );
  if (report.otherTables.length > 0)
    say(`note: these tables are not node-server's, and stay behind: ${report.otherTables.join(", ")}`);
  say(`${source} was copied to ${shown}; rows and checksums of all tables are the same.`);
  if (writeConfig) {
    const text = replaceDatabaseUrl(await readConfigFile(path), target);
    const { mode, uid, gid } = await stat(path);
    await replaceFile(path, text, { mode, uid, gid });
    say(`database_url in ${resolve(path)} names the new database; the next start uses it.`);
  } else
    say(
      `Now write ${settingFor(target)} into ${resolve(path)}, and start the server. The old database stays as it is.`,
    );
  if (process.env.NODE_SERVER_DATABASE_URL)
    say(
      "note: NODE_SERVER_DATABASE_URL is set in this environment and overrides database_url; change it where the server is started.",
    );
  return exitCodes.done;
}

/** `settingFor` says what to write for the new database. The URL of PostgreSQL is not repeated: it may have a password. */
function settingFor(target: string): string {
  return sqliteFilePart.read(target) === undefined
    ? "the URL of --to as database_url"
    : `database_url = ${JSON.stringify(target)}`;
}

function checkedUrl(to: string | undefined): string {
  if (to === undefined)
    throw new WrongUsage(
      "--to is missing: write --to postgres://… or --to sqlite://…; or --files to move the files",
    );
  try {
    const file = sqliteFilePart.read(to);
    // A path on the command line starts at the working directory, one in the configuration at its folder.
    return file === undefined ? to : sqliteFilePart.replace(to, resolve(file));
  } catch (error) {
    if (error instanceof Fault) throw new WrongUsage(`the URL of --to ${error.detail}`);
    throw error;
  }
}
