import { createWriteStream, existsSync, statSync } from "node:fs";
import { mkdtemp, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type VerifiedBackup, verifyBackup } from "../../backup/read-backup.ts";
import { type RestoreOptions, restoreBackup } from "../../backup/restore.ts";
import { shownDatabase } from "../../base/database-url.ts";
import { Fault } from "../../base/fault.ts";
import { inheritedOwner, makeFolder, readRegularFile } from "../../base/local-fs/access.ts";
import {
  backupPath,
  type Ownership,
  replaceFile,
  temporaryName,
  writeWhole,
} from "../../base/local-fs/replace-file.ts";
import { openBlobs } from "../../blobs/open-blobs.ts";
import {
  assertNotForeign,
  claimStore,
  readMark,
  retainedUntil,
} from "../../buckets/maintenance/store-identity.ts";
import type { Config } from "../../config/schema.ts";
import { findServerUuid, pathsBeside } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { probeDatabase } from "../../db/probe.ts";
import type { StoreValue } from "../../db/rows/store-rows.ts";
import { LogHub } from "../../log/hub.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { readConfig, withDatabase } from "../server/open.ts";
import { confirm } from "../terminal/ask.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import { refuseRoot, refuseRunning, refuseRunningHere } from "./refuse.ts";

/**
 * RestoredConfig is the configuration that a restored server uses: the one on the disk, or that of the backup, if there is none or
 * if it is to be replaced. Nothing is changed before `finish`.
 */
class RestoredConfig {
  readonly config: Config;
  readonly #path: string;
  readonly #backup: VerifiedBackup;
  /** The backup's configuration, written beside; undefined if the one on the disk stays. */
  readonly #beside: string | undefined;
  readonly #replaces: boolean;

  private constructor(
    config: Config,
    backup: VerifiedBackup,
    { path, beside, replaces }: { path: string; beside: string | undefined; replaces: boolean },
  ) {
    this.config = config;
    this.#backup = backup;
    this.#path = path;
    this.#beside = beside;
    this.#replaces = replaces;
  }

  static async open(
    ctx: Context,
    given: string,
    backup: VerifiedBackup,
    { replace }: { readonly replace: boolean },
  ): Promise<RestoredConfig> {
    const path = ctx.path(given);
    const exists = existsSync(path);
    if (exists && !replace)
      return new RestoredConfig(await readConfig(ctx, given), backup, {
        path,
        beside: undefined,
        replaces: false,
      });
    makeFolder(dirname(path));
    const beside = join(dirname(path), temporaryName(basename(path)));
    await writeWhole(beside, backup.config, await ownershipFor(path, 0o600));
    try {
      // Read from this folder, so that everything in it is found where it will be.
      const config = await readConfig(ctx, beside);
      return new RestoredConfig(config, backup, { path, beside, replaces: exists });
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  }

  /** replaced returns what `finish` will replace and keep under another name: `configuration <path>`, `UUID <uuid> of this server`. */
  async replaced(): Promise<string[]> {
    if (!this.#replaces) return [];
    const { present, change } = await this.#uuids();
    return [
      `configuration ${this.#path}`,
      ...(present !== undefined && change !== undefined ? [`UUID ${present} of this server`] : []),
    ];
  }

  /** Puts configuration and UUID in place. Returns what was done, for people. */
  async finish(): Promise<string[]> {
    const lines: string[] = [];
    if (this.#beside !== undefined) {
      const previous = await backUpPrevious(this.#path);
      await rename(this.#beside, this.#path);
      if (previous !== undefined) lines.push(`The previous configuration is saved as ${previous}.`);
      lines.push(`The configuration of the backup is now ${this.#path}.`);
    } else lines.push(`The configuration ${this.#path} exists and was not changed.`);
    lines.push(...(await this.#restoreUuid()));
    return lines;
  }

  async close(): Promise<void> {
    if (this.#beside !== undefined) await rm(this.#beside, { force: true });
  }

  /** The UUID in effect, and the one that is to take its place. */
  async #uuids(): Promise<{ present?: string | undefined; change?: string }> {
    const { server_uuid: uuid } = this.#backup.header;
    const { server_uuid: setting, database } = this.config;
    // A UUID in the configuration is in effect already.
    if (uuid === null || setting !== "auto_gen") return {};
    const present = await findServerUuid(setting, this.#path, databaseFile(database.database_url));
    return present === uuid ? { present } : { present, change: uuid };
  }

  async #restoreUuid(): Promise<string[]> {
    const { present, change } = await this.#uuids();
    if (change === undefined) return [];
    if (present !== undefined && !this.#replaces)
      return [
        `The server's UUID here is ${present}, in the backup it is ${change}; to use that of the backup, write server_uuid = "${change}" into the configuration.`,
      ];
    const [path = ""] = pathsBeside(this.#path, databaseFile(this.config.database.database_url));
    const previous = await backUpPrevious(path);
    await replaceFile(path, `${change}\n`, await ownershipFor(path, 0o644));
    return [
      `The server's UUID is ${change}, as in the backup.`,
      ...(previous === undefined ? [] : [`The previous UUID is saved as ${previous}.`]),
    ];
  }
}

/** Copies a file that is to be replaced; returns the path of the copy, undefined if there is no file. */
async function backUpPrevious(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const backup = backupPath(path);
  await writeWhole(backup, await readRegularFile(path), await stat(path));
  return backup;
}

/** Mode and owner of the file that is replaced; a new file gets `mode`. */
async function ownershipFor(path: string, mode: number): Promise<Ownership> {
  return existsSync(path) ? stat(path) : { mode, ...inheritedOwner(path) };
}

interface RestoredStoreOptions {
  readonly config: Config;
  readonly configPath: string;
  /** What the replaced database recorded about its store; undefined if there was none. */
  readonly previous: StoreValue | undefined;
  /** Whether files are restored into the store. */
  readonly withFiles: boolean;
}

/**
 * RestoredStore ties a restored database to the object store of its files: if it takes the place of the database that owned the
 * store, or if the files were restored into it. Otherwise an operator has to claim the store: the server of which the backup was
 * made may use it.
 */
class RestoredStore {
  readonly #ctx: Context;
  readonly #options: RestoredStoreOptions;

  constructor(ctx: Context, options: RestoredStoreOptions) {
    this.#ctx = ctx;
    this.#options = options;
  }

  /** Throws if files would be restored into a store of another database. */
  async examine(): Promise<void> {
    const { config, previous, withFiles } = this.#options;
    const { url } = config.files;
    if (url === undefined || !withFiles) return;
    const mark = await readMark(openBlobs({ ...config.files, url }, { sync: config.sync_uploads }));
    assertNotForeign(mark, previous?.database, url);
  }

  /** To be called when the database is in its place. What the backup does not name is kept in the store for a while. */
  async finish(): Promise<void> {
    const { config, configPath, previous, withFiles } = this.#options;
    const { keep_removed_days: keepDays } = config;
    const { url } = config.files;
    if (url === undefined || (previous === undefined && !withFiles)) return;
    await withDatabase(this.#ctx, config, { create: false, configPath }, async ({ storeIdentity }) => {
      if (previous !== undefined)
        await storeIdentity.change((_, now) => ({
          ...previous,
          keep_orphans_until: retainedUntil(now, keepDays),
        }));
      if (!withFiles) return;
      const blobs = openBlobs({ ...config.files, url }, { sync: config.sync_uploads });
      await claimStore(storeIdentity, blobs, { url, keepDays });
    });
  }
}

interface RestoreCommandOptions extends CommandOptions {
  readonly file: string;
  readonly yes?: boolean;
  /** `--files` or `--no-files`; undefined restores files if the backup has them. */
  readonly files?: boolean;
  readonly replaceConfig?: boolean;
}

/** Replaces the database of a stopped server, and the files of its buckets, by those of a backup. */
export function restore(options: RestoreCommandOptions, ctx: Context): Promise<number> {
  const { file } = options;
  refuseRoot(ctx, options.config, "restore");
  return interruptible(ctx, "interrupted; nothing was changed", async (signal) => {
    if (file !== "-") return restoreUntil(ctx, signal, { path: ctx.path(file), name: file }, options);
    if (!options.yes)
      throw new WrongUsage("cannot ask for confirmation, because standard input is the backup; add --yes");
    // A backup is read twice: first all of it is checked.
    const folder = await mkdtemp(join(dirname(ctx.path(options.config)), ".restore-"));
    try {
      const path = join(folder, "backup.tar.zst");
      await pipeline(ctx.input(), createWriteStream(path, { mode: 0o600 }), { signal });
      return await restoreUntil(ctx, signal, { path, name: "standard input" }, options);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** A backup, and its name in messages. */
interface GivenBackup {
  readonly path: string;
  readonly name: string;
}

async function restoreUntil(
  ctx: Context,
  signal: AbortSignal,
  { path, name }: GivenBackup,
  { config: configPath, yes, files, replaceConfig = false }: RestoreCommandOptions,
): Promise<number> {
  await refuseRunningHere(ctx, configPath, { replace: replaceConfig });
  const backup = await withProgress(ctx, "checking", path, (onBytes) =>
    verifyBackup(path, { onBytes, signal }),
  );
  if (files && backup.header.buckets === null)
    throw new WrongUsage(`${name} was made without --files; it contains no files of buckets`);
  const withFiles = backup.header.buckets !== null && files !== false;
  const restored = await RestoredConfig.open(ctx, configPath, backup, { replace: replaceConfig });
  try {
    const { config } = restored;
    await refuseRunning(ctx, { config, path: configPath });
    ctx.say(describe(backup));
    const { other_tables } = backup.header.database;
    if (other_tables.length > 0)
      ctx.say(`note: the backup does not contain tables of other programs: ${other_tables.join(", ")}`);
    const replaced = await restored.replaced();
    const present = await presentDatabase(config);
    const store = new RestoredStore(ctx, { config, configPath, previous: present.store, withFiles });
    await store.examine();
    if (replaced.length > 0 || present.exists || hasFiles(config, backup, withFiles))
      await confirm(
        ctx,
        question(config, replaced, withFiles ? backup.header.buckets?.length : undefined),
        yes,
      );
    const report = await withProgress(ctx, "restoring", path, (onBytes) =>
      restoreBackup(backup, {
        database: config.database,
        files: withFiles ? filesTarget(config) : undefined,
        hub: new LogHub(),
        onBytes,
        signal,
      }),
    );
    for (const line of await restored.finish()) ctx.say(line);
    await store.finish();
    for (const column of report.unknownColumns)
      ctx.say(`note: the values of ${column} are left out: this server has no such column`);
    for (const path of report.remains) ctx.say(`note: the replaced folder ${path} could not be removed`);
    if (report.previousDatabase !== undefined)
      ctx.say(
        `The previous database is saved as ${report.previousDatabase}; delete it when you no longer need it.`,
      );
    if (backup.header.buckets === null && hasBuckets(backup))
      ctx.say(`note: the backup has no files: ${whereFilesBelong(config)}`);
    ctx.say(
      `Restored. Check the result with \`node-server check --connect\`, start it with \`node-server serve\`.`,
    );
    return exitCodes.done;
  } finally {
    await restored.close();
  }
}

function describe({ header, manifest }: VerifiedBackup): string {
  const { made_at, node_server, database } = header;
  const content = [
    countText(manifest.rows.token ?? 0, "token"),
    countText(manifest.rows.static_file ?? 0, "bucket"),
    ...(header.buckets === null
      ? []
      : [`${countText(manifest.files.count, "file")} (${sizeText(manifest.files.bytes)})`]),
  ];
  return `The backup is complete: made ${made_at} by node-server ${node_server} on ${database.kind}, with ${content.join(", ")}.`;
}

/** `settings` are what `RestoredConfig.replaced` returns. */
function question(config: Config, settings: readonly string[], buckets: number | undefined): string {
  const things = [
    `database ${shownDatabase(config.database.database_url)}`,
    ...(buckets === undefined ? [] : [`files of ${countText(buckets, "bucket")} ${locationOf(config)}`]),
    ...settings,
  ];
  const all = [things.slice(0, -1).join(", the "), ...things.slice(-1)].filter((part) => part !== "");
  const backups =
    settings.length === 0
      ? ""
      : ` The current ${settings.join(" and the ")} will be saved under another name.`;
  return `The ${all.join(" and the ")} will be replaced.${backups}`;
}

function filesTarget({
  static_path: staticPath,
  files,
  sync_uploads: sync,
}: Config): RestoreOptions["files"] {
  const { url } = files;
  return url === undefined ? { staticPath } : { blobs: { ...files, url }, sync };
}

function hasBuckets({ manifest }: VerifiedBackup): boolean {
  return (manifest.rows.static_file ?? 0) > 0;
}

/** `whereFilesBelong` says what to do about files that the backup does not have. */
function whereFilesBelong({ static_path: staticPath, files: { url } }: Config): string {
  return url === undefined
    ? `copy static_path of the old server to ${staticPath}, unless the files are there`
    : `they must be in ${url}; docs/storage.md says how to restore with an object store`;
}

function locationOf({ static_path, files: { url } }: Config): string {
  return url === undefined ? `below ${static_path}` : `in ${url}`;
}

/** Tells whether files on the disk would be replaced. */
function hasFiles(config: Config, { header }: VerifiedBackup, withFiles: boolean): boolean {
  const isOnDisk = config.files.url === undefined;
  return (
    withFiles &&
    isOnDisk &&
    (header.buckets?.some(({ path }) => existsSync(join(config.static_path, path))) ?? false)
  );
}

interface PresentDatabase {
  readonly exists: boolean;
  readonly store: StoreValue | undefined;
}

/** The database that would be replaced. */
async function presentDatabase(config: Config): Promise<PresentDatabase> {
  try {
    const { state, store } = await probeDatabase(config.database, new LogHub());
    return { exists: state === "ready", store };
  } catch (error) {
    // A database that is damaged or of a newer version is one that can be replaced.
    if (error instanceof Fault) return { exists: true, store: undefined };
    throw error;
  }
}

async function withProgress<T>(
  ctx: Context,
  what: string,
  file: string,
  work: (onBytes: (bytes: number) => void) => Promise<T>,
): Promise<T> {
  const total = statSync(ctx.path(file)).size;
  const line = new Progress(ctx, what);
  let done = 0;
  const state = () => `${sizeText(done)} of ${sizeText(total)}`;
  const share = () => Math.min(1, total === 0 ? 1 : done / total);
  try {
    return await work((bytes) => {
      done += bytes;
      line.update(state, share());
    });
  } finally {
    line.end(state, share());
  }
}
