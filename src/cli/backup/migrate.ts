import { type CopyReport, copyDatabase } from "../../backup/copy-database.ts";
import { sqliteFilePart } from "../../base/config-key.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { Fault } from "../../base/fault.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { openBlobs } from "../../blobs/open-blobs.ts";
import { readMark, takeOver } from "../../buckets/maintenance/store-identity.ts";
import type { Config } from "../../config/schema.ts";
import { type DatabaseSettings, openDatabase } from "../../db/database.ts";
import type { StoreIdentityRows } from "../../db/rows/store-rows.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { readConfig } from "../server/open.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText } from "../terminal/quantities.ts";
import { printTable } from "../terminal/table.ts";
import { checkFilesTarget, type MigrateFilesOptions, migrateFiles, writeUrl } from "./migrate-files.ts";
import { refuseRoot, refuseRunning } from "./refuse.ts";

export interface MigrateOptions extends CommandOptions {
  readonly to?: string;
  readonly writeConfig?: boolean;
  readonly files?: string;
  readonly delete?: boolean;
}

/**
 * Copies the configured database into an empty one of either kind, all files into another store, or both, one after the other.
 * The password of a URL is in no output.
 */
export function migrate(options: MigrateOptions, ctx: Context): Promise<number> {
  const { to, files, delete: deletesOthers = false } = options;
  if (files === undefined && deletesOthers) throw new WrongUsage("--delete needs --files");
  refuseRoot(ctx, options.config, "migrate");
  if (files === undefined)
    return interruptible(ctx, "interrupted; nothing was changed", (signal) =>
      moveDatabase(ctx, signal, options),
    );
  const { config: path, writeConfig = false } = options;
  const target = { path, target: files, deletesOthers, writesConfig: writeConfig };
  const again = "run the command again to continue the copy";
  if (to === undefined)
    return interruptible(ctx, `ended; ${again}`, (signal) => migrateFiles(ctx, signal, target));
  return moveBoth(ctx, options, target);
}

/** Copies the database, and then the files with their rows in the new one: the old server stays as it is. */
async function moveBoth(ctx: Context, options: MigrateOptions, target: MigrateFilesOptions): Promise<number> {
  const { config: path, writeConfig } = options;
  // A store that cannot be used is told before anything is copied.
  await checkFilesTarget(ctx, target);
  let copied: DatabaseSettings | undefined;
  const goOn = () =>
    copied === undefined
      ? "nothing was changed"
      : `the database was copied, but not all files. To continue, ${
          writeConfig ? "" : `write ${settingFor(copied.database_url)} into ${ctx.path(path)}, and `
        }run \`node-server migrate --files ${target.target}\` with the same -c`;
  return interruptible(
    ctx,
    () => `ended; ${goOn()}`,
    async (signal) => {
      copied = await copyConfigured(ctx, signal, options);
      const code = await migrateFiles(ctx, signal, { ...target, database: copied }).catch(
        (error: unknown) => {
          if (!signal.aborted) ctx.say(goOn());
          throw error;
        },
      );
      if (code !== exitCodes.done) ctx.say(goOn());
      else if (!writeConfig) reportDatabase(ctx, path, copied.database_url);
      reportOverridden(ctx);
      return code;
    },
  );
}

async function moveDatabase(ctx: Context, signal: AbortSignal, options: MigrateOptions): Promise<number> {
  const { database_url: url } = await copyConfigured(ctx, signal, options);
  if (!options.writeConfig) reportDatabase(ctx, options.config, url);
  reportOverridden(ctx);
  return exitCodes.done;
}

/** Copies the configured database and returns the settings of the new one. */
async function copyConfigured(
  ctx: Context,
  signal: AbortSignal,
  { config: path, to, files, writeConfig }: MigrateOptions,
): Promise<DatabaseSettings> {
  const target = checkedUrl(ctx, to === "-" ? (await ctx.readInput()).trim() : to);
  const config = await readConfig(ctx, path, inspectMovedDatabase);
  const { database } = config;
  const [source, shown] = [shownDatabase(database.database_url), shownDatabase(target)];
  if (source === shown) throw new WrongUsage(`${shown} is already the configured database`);
  // A server that writes on would not be in the copy.
  await refuseRunning(ctx, { config, path });
  const store = files === undefined ? await usedStore(config) : undefined;
  const line = new Progress(ctx, "migrating");
  const copy = { ...database, database_url: target };
  let report: CopyReport;
  try {
    report = await copyDatabase({
      from: database,
      to: copy,
      hub: new LogHub(),
      progress({ doing, table, rows }) {
        signal.throwIfAborted();
        line.update(() => `${doing} ${table}, ${countText(rows, "row")}`);
      },
    });
  } finally {
    line.clear();
  }
  await printTable(ctx, {
    head: ["TABLE", "ROWS", "SHA-256"],
    rows: report.tables.map(({ name, rows, sha256 }) => [name, String(rows), sha256]),
  });
  if (report.otherTables.length > 0)
    ctx.say(`note: tables of other programs were not copied: ${report.otherTables.join(", ")}`);
  ctx.say(`${source} was copied to ${shown}; rows and checksums of all tables are the same.`);
  if (store !== undefined) {
    await withStores(copy, (stores) => takeOver(stores, store));
    ctx.say(
      `${config.files.url} now belongs to the new database. A server with the old database can no longer use it.`,
    );
  }
  if (writeConfig) {
    await writeUrl(ctx.path(path), ["database", "database_url"], target);
    ctx.say(`database_url in ${ctx.path(path)} names the new database; the next start uses it.`);
  }
  return copy;
}

/**
 * The object store that both databases would use; throws if it does not answer. Undefined for plain files, and for a store that
 * nobody owns yet.
 */
async function usedStore({ files, sync_uploads: sync }: Config): Promise<BlobStore | undefined> {
  if (files.url === undefined) return undefined;
  const blobs = openBlobs({ ...files, url: files.url }, { sync });
  return (await readMark(blobs)) && blobs;
}

async function withStores(
  settings: DatabaseSettings,
  work: (stores: StoreIdentityRows) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(settings, new LogHub(), { create: false });
  try {
    await work(database.storeIdentity);
  } finally {
    await database.close();
  }
}

function reportDatabase(ctx: Context, path: string, url: string): void {
  ctx.say(
    `Now write ${settingFor(url)} into ${ctx.path(path)}, and start the server. The old database stays as it is.`,
  );
}

function reportOverridden(ctx: Context): void {
  if (ctx.env.NODE_SERVER_DATABASE_URL)
    ctx.say(
      "note: NODE_SERVER_DATABASE_URL is set in this environment and overrides database_url; change it where the server is started.",
    );
}

/** `settingFor` returns what to write for the new database. The URL of PostgreSQL is not repeated: it may have a password. */
function settingFor(target: string): string {
  return sqliteFilePart.read(target) === undefined
    ? "the URL of --to as database_url"
    : `database_url = ${JSON.stringify(target)}`;
}

function checkedUrl(ctx: Context, to: string | undefined): string {
  if (to === undefined)
    throw new WrongUsage(
      "--to is missing: write --to postgres://… or --to sqlite://…; or --files to move the files",
    );
  try {
    const file = sqliteFilePart.read(to);
    // A path on the command line starts at the working directory, one in the configuration at its folder.
    return file === undefined ? to : sqliteFilePart.replace(to, ctx.path(file));
  } catch (error) {
    if (error instanceof Fault) throw new WrongUsage(`the URL of --to ${error.detail}`);
    throw error;
  }
}
