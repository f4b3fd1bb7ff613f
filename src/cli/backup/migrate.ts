import { stat } from "node:fs/promises";
import { type CopyReport, copyDatabase } from "../../backup/copy-database.ts";
import { type CopyFilesReport, copyFiles, type NotMoved } from "../../backup/copy-files.ts";
import { sqliteFilePart } from "../../base/config-key.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { Fault } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { blobKinds, findKind, kindOf, openBlobs } from "../../blobs/open-blobs.ts";
import { readMark, takeOver } from "../../buckets/maintenance/store-identity.ts";
import { replaceUrl } from "../../config/config-file.ts";
import { readConfigFile } from "../../config/default-config.ts";
import { readOverrides } from "../../config/environment.ts";
import type { Config } from "../../config/schema.ts";
import { type DatabaseSettings, openDatabase } from "../../db/database.ts";
import type { StoreIdentityRows } from "../../db/rows/store-rows.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { loadGivenConfig, noUuid, readConfig, uuidOf } from "../server/open.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { type Meter, openMeter, Progress } from "../terminal/progress.ts";
import { countText } from "../terminal/quantities.ts";
import { printTable } from "../terminal/table.ts";
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

/** `writeUrl` writes the URL of a table's key into a configuration file, or removes it. Owner, permissions and comments stay. */
async function writeUrl(
  path: string,
  key: readonly [table: string, key: string],
  url: string | undefined,
): Promise<void> {
  const text = replaceUrl(await readConfigFile(path), key, url);
  const { mode, uid, gid } = await stat(path);
  await replaceFile(path, text, { mode, uid, gid });
}

/** The target that stands for plain files below `static_path`. */
const disk = "disk";
/** Problems that are printed one by one. */
const maxShown = 20;

interface MigrateFilesOptions {
  /** The configuration file. */
  readonly path: string;
  /** `disk`, or what `[files] url` will be. */
  readonly target: string;
  readonly deletesOthers: boolean;
  readonly writesConfig: boolean;
  /** The database with the rows of the files; that of the configuration unless it was just copied. */
  readonly database?: DatabaseSettings;
}

/** Throws if the target is not a store of files that this configuration can use. */
async function checkFilesTarget(ctx: Context, { path, target }: MigrateFilesOptions): Promise<void> {
  await newStore(ctx, path, target);
}

/** Copies the files of all buckets into another store. */
async function migrateFiles(
  ctx: Context,
  signal: AbortSignal,
  options: MigrateFilesOptions,
): Promise<number> {
  const { path, deletesOthers } = options;
  const { config, changed, from, into } = await newStore(ctx, path, options.target);
  // A server that writes on would not be in the copy.
  await refuseRunning(ctx, { config, path });
  const { database = config.database } = options;
  let meter: Meter | undefined;
  let report: CopyFilesReport;
  try {
    report = await copyFiles({
      database,
      staticPath: config.static_path,
      serverUuid: (await uuidOf(config, ctx.path(path))) ?? noUuid,
      from: config.files,
      to: changed.files,
      keepRemovedDays: changed.keep_removed_days,
      deletesOthers,
      hub: new LogHub(),
      signal,
      begin({ notMoved, ...load }) {
        if (notMoved !== undefined) noteNotMoved(ctx, notMoved);
        meter = openMeter(ctx, "copying", load, { showsRate: true });
        return meter;
      },
    });
  } finally {
    meter?.end();
  }
  if (!isCopied(ctx, report, { from, into })) return exitCodes.failed;
  await reportNextStep(ctx, changed.files, { ...options, from });
  return exitCodes.done;
}

function noteNotMoved(ctx: Context, { earlierDeploys, newDeploys, versions }: NotMoved): void {
  const notMoved = [
    ...(earlierDeploys > 0 ? [countText(earlierDeploys, "earlier deploy")] : []),
    ...(newDeploys > 0 ? [countText(newDeploys, "unpublished deploy")] : []),
    ...(versions > 0 ? [`${countText(versions, "deleted or replaced file")} that could be restored`] : []),
  ];
  if (notMoved.length > 0) ctx.say(`note: not moved: ${notMoved.join(", ")}`);
}

/** The configuration, and as it would be with the target; both stores also as they are shown. */
async function newStore(ctx: Context, path: string, target: string) {
  const config = await readConfig(ctx, path, inspectMovedDatabase);
  const changed = await withTarget(ctx, path, config, target);
  const [from, into] = [shown(config.files.url), shown(changed.files.url)];
  if (from === into) throw new WrongUsage(`the files are already in ${into}`);
  return { config, changed, from, into };
}

/** The configuration with another `url`, checked as if that stood there. */
async function withTarget(ctx: Context, path: string, config: Config, target: string): Promise<Config> {
  if (target === disk) return { ...config, files: { ...config.files, url: undefined } };
  assertTarget(target);
  const { values, ...rest } = readOverrides(ctx.env);
  const url = { path: ["files", "url"], from: "--files", value: target };
  const others = values.filter((override) => override.path.join(".") !== "files.url");
  const { config: changed } = await loadGivenConfig(ctx, path, {
    inspect: inspectMovedDatabase,
    overrides: { ...rest, values: [...others, url] },
  });
  return changed;
}

/** A target that is mistyped is not a problem of the configuration. */
function assertTarget(target: string): void {
  try {
    kindOf(target);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const detail = findKind(target) !== undefined ? `; the URL ${error.detail}` : "";
    throw new WrongUsage(
      `--files is not a file store: write disk (plain files below static_path), ${blobKinds.map(({ form }) => form).join(" or ")}${detail}`,
    );
  }
}

function shown(url: string | undefined): string {
  return url ?? "plain files below static_path";
}

/** Names the files whose content was lost before: that is not a failure of the copy, and repeating it would not help. */
function reportLost(ctx: Context, lost: CopyFilesReport["lost"], from: string): void {
  for (const { blob, location, isRemoved } of lost.slice(0, maxShown)) {
    const file = location === undefined ? `blob ${blob}` : `${location.bucket}/${location.path}`;
    ctx.say(
      `note: not copied: ${file}${isRemoved ? " (deleted file)" : ""}: its content is missing in ${from}, too`,
    );
  }
  if (lost.length > 0)
    ctx.say(
      `note: the content of ${countText(lost.length, "file")} was already missing; restore it from a backup, or upload it again.`,
    );
}

/** Says which settings of the store came from this environment: the server may be started in another one. */
function reportVariables(ctx: Context, files: Config["files"]): void {
  const used = Object.entries(findKind(files.url)?.variables ?? {}).filter(
    ([variable, key]) => ctx.env[variable] && ctx.env[variable] === (files as Record<string, unknown>)[key],
  );
  if (used.length === 0) return;
  const names = (which: 0 | 1) => used.map((pair) => pair[which]).join(", ");
  ctx.say(
    `note: ${names(0)} ${used.length === 1 ? "was" : "were"} taken from this environment. The server needs the same where it is started, or write ${names(1)} below [files].`,
  );
}

/** Prints what was copied, and returns whether that is everything. */
function isCopied(
  ctx: Context,
  { buckets, copied, unchanged, others, failures, lost, forgotten }: CopyFilesReport,
  { from, into }: { readonly from: string; readonly into: string },
): boolean {
  for (const { what, why } of failures.slice(0, maxShown)) ctx.say(`not copied: ${what}: ${why}`);
  reportLost(ctx, lost, from);
  for (const name of others.slice(0, maxShown)) ctx.say(`only in ${into}: ${name}`);
  const what = buckets === undefined ? "blob" : "file";
  const sum = `${countText(copied, what)} copied to ${into}, ${countText(unchanged, what)} there already`;
  const inBuckets = buckets === undefined ? "" : ` (${countText(buckets, "bucket")})`;
  // A source that has nothing is probably not the right one.
  const isEmpty = lost.length > 0 && copied + unchanged === 0;
  if (failures.length > 0 || others.length > 0 || isEmpty) {
    const problems = [
      ...(isEmpty ? [`${from} has none of the content: check that its file system is mounted`] : []),
      ...(failures.length > 0 ? [`${countText(failures.length, what)} not copied`] : []),
      ...(others.length > 0
        ? [
            `${countText(others.length, "file or folder", "files or folders")} only there: move them away, or delete them with --delete`,
          ]
        : []),
    ];
    ctx.say(
      `${sum}${inBuckets}; ${problems.join("; ")}. Nothing is lost; fix this and run the command again.`,
    );
    return false;
  }
  ctx.say(`${sum}${inBuckets}; the SHA-256 of every ${what} is the same.`);
  if (forgotten > 0)
    ctx.say(
      `${countText(forgotten, "version")} of an earlier object store, whose content is not here, forgotten.`,
    );
  return true;
}

/** Names the new store in the configuration, or says how. */
async function reportNextStep(
  ctx: Context,
  files: Config["files"],
  { path, writesConfig, from }: MigrateFilesOptions & { readonly from: string },
): Promise<void> {
  const { url } = files;
  const file = ctx.path(path);
  const unchanged = `The ${from === shown(undefined) ? from : `files in ${from}`} stay as they are.`;
  if (writesConfig) {
    await writeUrl(file, ["files", "url"], url);
    ctx.say(
      url === undefined
        ? `url below [files] was removed from ${file}; the next start uses plain files. ${unchanged}`
        : `url below [files] in ${file} names the new store; the next start uses it. ${unchanged}`,
    );
  } else
    ctx.say(
      url === undefined
        ? `Now remove url below [files] from ${file}, and start the server. ${unchanged}`
        : `Now write url = ${JSON.stringify(url)} below [files] into ${file}, and start the server. ${unchanged}`,
    );
  reportVariables(ctx, files);
  if (ctx.env.NODE_SERVER_FILES_URL)
    ctx.say(
      "note: NODE_SERVER_FILES_URL is set in this environment and overrides url; change it where the server is started.",
    );
}
